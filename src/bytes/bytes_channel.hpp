// SPDX-License-Identifier: Apache-2.0
// What a BytesClient is made of.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "bytes/message_access.hpp"
#include "carillon/bytes.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/client.hpp"
#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/detail/host/channel_transport.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/kernel/messages.hpp"
#include "carillon/wait.hpp"

namespace carillon::detail {

// Throws UsageError, in the name of `call`, unless `bytes` are from `least` to `most`. `what`:
// whose they are.
void require_bytes(std::string_view call, std::string_view what, std::size_t bytes,
                   std::size_t least, std::size_t most);
// The same for a size that no message has.
[[nodiscard]] ByteShape checked_shape(std::string_view call, std::string_view what,
                                      std::size_t bytes);
// The type, as another process compares it. Throws the same, and UsageError for a name that has a
// control character or is no UTF-8.
[[nodiscard]] MessageType message_type(std::string_view call, std::string_view what,
                                       BytesType const& type);
// The same of a type of any size, in slots of so many lines.
[[nodiscard]] MessageType type_of_bytes(std::string_view call, std::string_view what,
                                        BytesType const& type, std::uint32_t slot_lines);
// Throws UsageError, in the name of `call`, unless `bytes` are one message, or several messages;
// and for bytes at a null pointer.
void require_one(std::string_view call, std::string_view what, std::span<std::byte const> bytes,
                 ByteShape shape);
[[nodiscard]] std::size_t require_whole(std::string_view call, std::string_view what,
                                        std::span<std::byte const> bytes, ByteShape shape);

class BytesChannel {
   public:
    using Near = MessageNear<HostCached>;
    using Far = MessageFar<HostMapped>;
    using Ends =
        Client<OneRequest<MessageAt, MessageAt>, ChannelTransport<MessageAt, MessageAt, Near, Far>>;

    // To another process's kernel, and to one of this process.
    BytesChannel(ByteShape request, ByteShape reply, LeasedChannel const& channel)
        : request_(request),
          reply_(reply),
          near_(HostCached(), reply),
          ends_(channel, near_, Far(channel.far, request)) {}
    BytesChannel(ByteShape request, ByteShape reply, Device const& device,
                 std::shared_ptr<ChannelMemory> const& memory, unsigned index, HostWait wait,
                 std::shared_ptr<ChannelPeer> peer)
        : request_(request),
          reply_(reply),
          near_(HostCached(), reply),
          ends_(memory, index, near_, Far(device.access(memory->device_memory()), request), wait,
                std::move(peer)) {}

    [[nodiscard]] Ends& ends() { return ends_; }
    [[nodiscard]] ByteShape request() const { return request_; }
    [[nodiscard]] ByteShape reply() const { return reply_; }

    // A request as the ends take it. Throws UsageError for its size and for a null pointer.
    [[nodiscard]] MessageAt checked(std::string_view call, std::span<std::byte const> request) {
        require_one(call, "request", request, request_);
        return {request.data()};
    }
    void require_reply(std::string_view call, std::span<std::byte> reply) const {
        require_one(call, "reply", reply, reply_);
    }
    // A reply that was taken, before anything else is done with the ends.
    void copy(MessageAt reply, std::byte* to) const { near_.copy(reply, to); }

   private:
    ByteShape request_;
    ByteShape reply_;
    Near near_;
    Ends ends_;
};

// The ends that Connection gives to those who know sizes alone.
struct BytesAttach {
    [[nodiscard]] static LeasedChannel channel(Connection const& connection,
                                               std::string_view object, MessageTypes const& types) {
        return connection.attach(object, types);
    }
    [[nodiscard]] static LeasedEnd<RingView> ring(Connection const& connection,
                                                  std::string_view object, MessageType const& type,
                                                  bool to_device) {
        return connection.ring_end(object, type, to_device);
    }
    [[nodiscard]] static LeasedEnd<MailboxView> mailbox(Connection const& connection,
                                                        std::string_view object,
                                                        MessageType const& type, bool to_device) {
        return connection.mailbox_end(object, type, to_device);
    }
    [[nodiscard]] static std::shared_ptr<ChunkRingState> chunk_ring(Connection const& connection,
                                                                    std::string_view object,
                                                                    MessageType const& meta) {
        return connection.chunk_ring_end(object, meta);
    }
};

}  // namespace carillon::detail
