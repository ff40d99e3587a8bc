// SPDX-License-Identifier: Apache-2.0
// The messages between an owner and its clients: of kernels, objects and buffers alike.
//
// A message is a header (the magic "CRLN", u16 version, u16 kind, u32 size of the whole message,
// u32 id) and the members of its struct in their order, with nothing between them. A number takes
// as many bytes as its type has, little-endian; a flag and an enumerator take one; a name takes 64
// and a text 256, filled up with zeros. An optional member takes a flag and its own bytes, which
// are zero if the flag is. Both sides check every field. The magic and the version have the same
// place in every version, so that each side can name the other's version.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "carillon/buffer.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/device_info.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

inline constexpr std::uint32_t messages_magic = 0x4e4c5243;  // "CRLN"
// Versions below 6 had a protocol of their own for stores, with this magic number ("CRST").
inline constexpr std::uint32_t former_store_magic = 0x54535243;
inline constexpr std::uint16_t messages_version = 7;
inline constexpr std::size_t longest_name = 63;   // characters; a name has at least one
inline constexpr std::size_t longest_text = 255;  // characters of a text for people
inline constexpr std::uint64_t largest_buffer = std::uint64_t{1} << 40;

// The other process has another version of the messages.
class VersionError : public ProtocolError {
   public:
    VersionError(std::string const& text, std::uint32_t magic)
        : ProtocolError(text), magic_(magic) {}
    // The magic number of that version: an answer with it is understood to be of another version.
    [[nodiscard]] std::uint32_t magic() const { return magic_; }

   private:
    std::uint32_t magic_;
};

// Memory that the receiver maps. Its descriptor comes with the message.
struct WireMemory {
    MemorySource source = MemorySource::unknown;
    std::optional<std::array<std::uint8_t, 16>> uuid;  // of the GPU that has it
    std::uint64_t bytes = 0;
    bool write_combining = false;
};

// Client: the first message of a connection.
struct Hello {
    std::string name;
};
// Owner: the answer to Hello.
struct Welcome {
    ConnectedOwner owner;  // but for its user
};
// Owner: in place of any answer. With the id 0 it refuses the connection.
struct Refused {
    RefusalReason reason = RefusalReason::other;
    std::string text;
};

// Client: wants a channel to a kernel, or the host's end of an object. An object has one type,
// which is in both members.
struct Attach {
    std::string object;
    ObjectKind kind = ObjectKind::kernel;
    MessageType request;  // with sent_name()
    MessageType reply;
    bool host_memory = false;  // accepts no other memory
};
// Owner: the answer to Attach. It comes with the descriptor of the device memory, and with that of
// the host memory (a memfd) if there is some.
struct Attached {
    std::uint32_t lease = 0;  // from 1 on
    WireMemory memory;        // the device memory
    std::uint64_t host_bytes = 0;
    ChannelShape shape{};
    std::uint32_t chunk_bytes = 0;  // of a chunk ring
    Sequence first = 1;
    std::uint32_t blocks = 1;  // of the kernel
    bool in_pairs = false;
    bool any_block = false;  // any block serves the channel
    bool read_back = false;
    bool shares_processors = false;
};
// Client: whether it could map that memory. If it could not, it has no lease. If the lease has
// ended meanwhile, the owner answers with Ended.
struct Mapped {
    std::uint32_t lease = 0;
    bool mapped = false;
    std::string text;  // the cause if it is not mapped
};
// Client: gives a lease back.
struct Detach {
    std::uint32_t lease = 0;
};
// Owner: the state of an object has changed.
struct Notice {
    std::string object;
    KernelState state = KernelState::running;
    std::string text;
};
// Client: the kernel drains, and all requests of this lease are answered.
struct Drained {
    std::uint32_t lease = 0;
};
// Owner: it has taken a lease back.
struct Ended {
    std::uint32_t lease = 0;
    std::string text;  // the cause
};

// Client: who has this place of this object (a block of a kernel)?
struct Look {
    std::uint32_t object = 0;  // its index, in the order in which objects were added
    std::uint32_t place = 0;
};
// Owner: the answer to Look.
struct Seen {
    std::uint32_t objects = 1;  // how many there are; if 0, the members of one mean nothing
    std::string object;
    ObjectKind kind = ObjectKind::kernel;
    KernelState state = KernelState::running;
    std::uint32_t places = 1;  // of the object
    ServedBlock block;         // the place; its client may write any `counters`
    bool emulated = false;     // the device
    std::optional<StoreStatus> store;
};

// Names a buffer: by its number, or by its name if the number is 0.
struct BufferKey {
    std::uint64_t id = 0;
    std::string name{};
};
// Client: wants a new buffer to write to.
struct CreateBuffer {
    std::string name;  // empty: none
    std::uint64_t bytes = 0;
    bool host_memory = false;
};
// Client: wants to read a buffer.
struct GetBuffer {
    BufferKey key;
};
// Owner: the answer to CreateBuffer and GetBuffer, and unasked after WatchBuffers. It comes with
// the descriptor of its memory if the client has not had that.
struct LentBuffer {
    BufferInfo info;  // its number, name, size, and whether it is sealed
    WireMemory memory;
    std::uint64_t memory_number = 0;  // other buffers may have this memory later
    bool descriptor = false;   // false: the client has had it, and has not sent ForgetMemory since
    std::uint64_t missed = 0;  // after WatchBuffers: how many were not lent before this one
};
// Client: has written its buffer. Nobody writes it from then on.
struct SealBuffer {
    std::uint64_t buffer = 0;
};
// Client: gives a buffer back.
struct ReleaseBuffer {
    std::uint64_t buffer = 0;
};
// Client: gives a buffer back that it could not map.
struct UnmappedBuffer {
    std::uint64_t buffer = 0;
    std::string text;  // the cause
};
// Client: has unmapped this memory.
struct ForgetMemory {
    std::uint64_t memory = 0;
};
// Client: nobody is to get this buffer any more.
struct RemoveBuffer {
    BufferKey key;
};
// Owner: the answer to SealBuffer, RemoveBuffer and WatchBuffers.
struct BufferDone {
    std::uint64_t spare = 0;  // to RemoveBuffer: memory that only this client gets now; 0: none
};
// Client: which buffer comes after that number?
struct NextBuffer {
    std::uint64_t buffer = 0;
};
// The owner answers NextBuffer with BufferInfo, whose number is 0 where there is none.
// Client: wants to hear of each buffer that is sealed (words), to get it (buffers), or neither.
enum class SealedNews : std::uint8_t { none, words, buffers };
struct WatchBuffers {
    SealedNews news = SealedNews::words;
    // How many buffers have come unasked: those on their way are the owner's again.
    std::uint64_t came = 0;
};
// The owner says SealedBuffer of each buffer that is sealed, after WatchBuffers for words.
// Client: holds a buffer, and needs the descriptor of its memory once more.
struct ShowMemory {
    std::uint64_t buffer = 0;
};
// Owner: the answer to ShowMemory, with the descriptor.
struct ShownMemory {
    std::uint64_t memory = 0;
};
// Owner: so many buffers were not lent after WatchBuffers, and no other has come since.
struct MissedBuffers {
    std::uint64_t count = 0;
};

using Message =
    std::variant<Hello, Welcome, Refused, Attach, Attached, Mapped, Detach, Notice, Drained, Ended,
                 Look, Seen, CreateBuffer, GetBuffer, LentBuffer, SealBuffer, ReleaseBuffer,
                 UnmappedBuffer, ForgetMemory, RemoveBuffer, BufferDone, NextBuffer, BufferInfo,
                 WatchBuffers, SealedBuffer, ShowMemory, ShownMemory, MissedBuffers>;

// Throws UsageError for a name that no message can have. `what` is named.
void require_name(std::string_view what, std::string_view name);
// Throws UsageError for a control character and for bytes that are no UTF-8.
void require_printable(std::string_view what, std::string_view name);
// The name of a type, as processes send, compare and print it. A name that is too long is cut at a
// whole character, and "~" and a hash of the whole name follow: two long names stay two names.
[[nodiscard]] std::string sent_name(std::string_view type_name);
// The default name of a client: the program's name. Characters that no name may have become spaces,
// and a name that is too long is cut.
[[nodiscard]] std::string name_of_program();

// `id`: of a question, and of its answer; 0 for a message that asks for no answer. A text or a name
// that is too long is cut, and control characters of a text become spaces. `magic`: see
// VersionError::magic(). Throws UsageError for a message that decode() would refuse.
[[nodiscard]] std::vector<std::byte> encode(std::uint32_t id, Message const& message,
                                            std::uint32_t magic = messages_magic);

// A server's code says no to a client so: it throws the message, inside the server alone.
template <class... Parts>
[[noreturn]] void throw_refused(RefusalReason reason, fmt::format_string<Parts...> text,
                                Parts&&... parts) {
    throw Refused{reason, fmt::format(text, std::forward<Parts>(parts)...)};
}
// The refusal for an error: `full` if the system, or the device, has no room now, for which a
// client may wait.
[[nodiscard]] Refused refusal_of(std::exception const& error);

// How many descriptors go with the message.
[[nodiscard]] std::size_t descriptors_of(Message const& message);

struct Decoded {
    std::uint32_t id = 0;
    Message message;
};
// `descriptors`: how many came with it, which has to be descriptors_of(); none if they were lost.
// Throws ProtocolError, which names the field, and VersionError, which names both versions.
[[nodiscard]] Decoded decode(std::span<std::byte const> bytes,
                             std::optional<std::size_t> descriptors);

}  // namespace carillon::detail
