// SPDX-License-Identifier: Apache-2.0
// The memory of a channel, or of an object, on its way to another process, and that process's
// mapping of it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/serving/lender.hpp"
#include "carillon/detail/serving/published_object.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

struct SharedFiles {
    FileDescriptor device;  // what the device polls
    FileDescriptor host;
};

// Describes to a client all of what it was lent, except the number of the lease. Throws
// VulkanError, SystemError.
[[nodiscard]] Attached describe(Lender const& lender, LentMemory const& memory, SharedFiles& files);
[[nodiscard]] Attached describe(PublishedObject const& object, SharedFiles& files);

// The shape of an object, as the message has it.
[[nodiscard]] ObjectShape shape_of(Attached const& attached);

// A client's mapping of that memory.
class MappedChannel {
   public:
    // Throws ProtocolError for sizes that do not go together, and what ForeignMemory throws.
    MappedChannel(ObjectKind kind, Attached const& attached, SharedFiles files);

    // The memory as that of a channel.
    [[nodiscard]] ChannelView view() const;
    [[nodiscard]] ServedBy served_by() const;
    template <class Layout>
    [[nodiscard]] typename Layout::View view_of() const {
        return Layout::view(
            shape_of(attached_),
            {static_cast<std::byte*>(device_.host_ptr()), static_cast<std::byte*>(host_ptr()), 1,
             attached_.shape, attached_.first, nullptr, false});
    }
    [[nodiscard]] Attached const& attached() const { return attached_; }
    [[nodiscard]] CounterWords* counters() const;
    // All bytes that this process can write.
    [[nodiscard]] std::span<std::byte> device_bytes() const { return bytes_of(device_); }
    [[nodiscard]] std::span<std::byte> host_bytes() const {
        return host_ ? bytes_of(*host_) : std::span<std::byte>();
    }
    // It publishes in two steps if this CPU needs them, unless `mode` says otherwise.
    [[nodiscard]] HostMapped access(std::optional<PublishMode> mode = {}) const;
    // How a client waits, unless it has `chosen`.
    [[nodiscard]] HostWait wait(std::optional<HostWait::Style> const& chosen) const;

   private:
    [[nodiscard]] static std::span<std::byte> bytes_of(ForeignMemory const& memory) {
        return {static_cast<std::byte*>(memory.host_ptr()), memory.size()};
    }

    [[nodiscard]] void* host_ptr() const { return host_ ? host_->host_ptr() : nullptr; }

    Attached attached_;
    ForeignMemory device_;
    std::optional<ForeignMemory> host_;
};

}  // namespace carillon::detail
