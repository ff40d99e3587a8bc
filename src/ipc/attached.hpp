// SPDX-License-Identifier: Apache-2.0
// A channel's memory on its way to another process, and what that makes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/leases.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"
#include "ipc/messages.hpp"
#include "os/unix_socket.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

struct SharedFiles {
    FileDescriptor device;  // what the device polls
    FileDescriptor host;
};

// All that a client has to know of what it was lent, but the number of the lease. Throws
// VulkanError, SystemError.
[[nodiscard]] Attached describe(Leases const& leases, ChannelMemory const& memory,
                                SharedFiles& files);

// The client's mapping of it.
class MappedChannel {
   public:
    // Throws, in the name of `call`, ProtocolError for sizes that do not go together, and what
    // ForeignMemory throws.
    MappedChannel(std::string_view call, Attached const& attached, SharedFiles files);

    [[nodiscard]] ChannelView view() const;
    // All of what this process can write.
    [[nodiscard]] std::span<std::byte> device_bytes() const { return bytes_of(device_); }
    [[nodiscard]] std::span<std::byte> host_bytes() const { return bytes_of(host_); }
    [[nodiscard]] HostMapped access() const;
    // How a client waits, unless it has `chosen`.
    [[nodiscard]] HostWait wait(std::optional<HostWait::Style> const& chosen) const;

   private:
    [[nodiscard]] static std::span<std::byte> bytes_of(ForeignMemory const& memory) {
        return {static_cast<std::byte*>(memory.host_ptr()), memory.size()};
    }

    Attached attached_;
    ForeignMemory device_;
    ForeignMemory host_;
};

}  // namespace carillon::detail
