// SPDX-License-Identifier: Apache-2.0
// A client's mapping of the memory of a channel, or of an object.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"
#include "serving/client_messages.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

class MappedChannel {
   public:
    // `files`: those of a Loan. Throws ProtocolError for sizes that do not go together, and what
    // ForeignMemory throws.
    MappedChannel(ObjectKind kind, Attached const& attached, std::vector<FileDescriptor> files);

    // The memory as that of a channel.
    [[nodiscard]] ChannelView view() const;
    [[nodiscard]] ServedBy served_by() const {
        return attached_.any_block ? ServedBy::any_block : ServedBy::one_block;
    }
    // The memory as that of an object.
    template <class Layout>
    [[nodiscard]] typename Layout::View view_of() const {
        return Layout::view(shape_of(attached_), table());
    }
    [[nodiscard]] Attached const& attached() const { return attached_; }
    [[nodiscard]] CounterWords* counters() const { return table().counters(0); }
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

    [[nodiscard]] static ObjectShape shape_of(Attached const& attached) {
        return {attached.shape.capacity, attached.shape.request_lines, attached.chunk_bytes};
    }
    [[nodiscard]] ChannelTable table() const;

    Attached attached_;
    ForeignMemory device_;
    std::optional<ForeignMemory> host_;
};

}  // namespace carillon::detail
