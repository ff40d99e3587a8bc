// SPDX-License-Identifier: Apache-2.0
// The memory and the host's end of a Flag or a Doorbell.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/ring.hpp"

namespace carillon::detail {

// A word in the memory of its reader's side, and its host end. Neither copied nor moved: two ends
// would know different values.
template <class HostEnd, class DeviceEnd, Direction direction>
class OneWord {
   public:
    explicit OneWord(Device const& device)
        : memory_(direction == Direction::to_device ? device.allocate(sizeof(Line))
                                                    : device.allocate_host(sizeof(Line))),
          host_(make_host_end(device)) {}
    OneWord(OneWord const&) = delete;
    OneWord& operator=(OneWord const&) = delete;

    [[nodiscard]] HostEnd& host() { return host_; }
    [[nodiscard]] HostEnd const& host() const { return host_; }
    [[nodiscard]] std::uint64_t* device_address() const {
        return static_cast<std::uint64_t*>(memory_.device_ptr());
    }
    [[nodiscard]] DeviceEnd device_handle() const { return DeviceEnd(device_address()); }

   private:
    [[nodiscard]] HostEnd make_host_end(Device const& device) const {
        auto* const word = static_cast<std::uint64_t*>(memory_.host_ptr());
        if constexpr (direction == Direction::to_device) {
            return HostEnd(word, device.access(memory_));
        } else {
            return HostEnd(word);
        }
    }

    Memory memory_;
    HostEnd host_;
};

}  // namespace carillon::detail
