// SPDX-License-Identifier: Apache-2.0
// Memory for the replies of a HostService.
#pragma once

#include <cstdint>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/host_call.hpp"
#include "carillon/detail/protocol/reply_slots.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// The slots for replies in device memory.
class ReplyMemory {
   public:
    // Throws UsageError without any, and what Device::allocate throws.
    ReplyMemory(Device const& device, std::uint32_t count, Sequence first);

    [[nodiscard]] ReplySlots device_view() const { return view_at(memory_.device_ptr()); }
    [[nodiscard]] HostReplyWriter<HostMapped> const& writer() const { return writer_; }

   private:
    [[nodiscard]] ReplySlots view_at(void* begin) const;

    std::uint32_t slots_;
    Memory memory_;
    HostReplyWriter<HostMapped> writer_;
};

}  // namespace carillon::detail
