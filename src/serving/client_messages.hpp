// SPDX-License-Identifier: Apache-2.0
// What the owner of a kernel and its clients say to each other through their socket.
//
// A message is a header (the magic "CRLN", u16 version, u16 kind, u32 bytes of all of it, u32 id)
// and the members of its struct in their order: numbers in as many bytes as their types have,
// little-endian, flags and enumerators in one, a name in 64 and a text in 256, filled up with
// zeros, of a UUID whether there is one and its 16 bytes. Nothing lies between them, and nothing of
// a message is taken on trust. Magic and version are where they are in every version: whoever gets
// another's message can say so.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/device_info.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

inline constexpr std::uint16_t handshake_version = 4;
inline constexpr std::size_t longest_name = 63;   // characters; names have one at least
inline constexpr std::size_t longest_text = 255;  // the same, of texts for people
inline constexpr std::size_t most_descriptors_of_attached = 2;

// The other side's version of the handshake is another.
class VersionError : public ProtocolError {
    using ProtocolError::ProtocolError;
};

struct Hello {  // client: the first
    std::string name;
    bool operator==(Hello const&) const = default;
};
struct Welcome {                 // owner: to Hello
    std::uint32_t process = 0;   // its pid
    std::uint64_t instance = 0;  // another for each owner that serves
    std::string name;
    bool operator==(Welcome const&) const = default;
};

struct WireType {
    std::uint32_t bytes = 0;
    std::uint32_t alignment = 0;
    std::uint64_t layout = 0;
    std::uint64_t members = 0;     // 0: not known
    std::uint32_t slot_lines = 1;  // of a slot that has one
    std::string name;              // sent_name() of its type
    bool operator==(WireType const&) const = default;
};
struct Attach {  // client: wants a channel, or an object's end: both types are its values' then
    std::string object;
    ObjectKind kind = ObjectKind::kernel;
    WireType request;
    WireType reply;
    bool host_memory = false;  // and nothing else
    bool operator==(Attach const&) const = default;
};
struct Attached {  // owner: lends it; with the descriptors of its device memory and, if it has any,
                   // its host memory
    std::uint32_t lease = 0;                      // from 1 on
    MemorySource source = MemorySource::unknown;  // of the device memory; of the other: a memfd
    std::optional<std::array<std::uint8_t, 16>> uuid;  // of the GPU that has it
    std::uint64_t device_bytes = 0;
    std::uint64_t host_bytes = 0;
    ChannelShape shape{};
    std::uint32_t chunk_bytes = 0;  // of a chunk ring's
    Sequence first = 1;
    std::uint32_t blocks = 1;  // of the kernel
    bool in_pairs = false;
    bool any_block = false;  // serves it
    bool write_combining = false;
    bool read_back = false;
    bool shares_processors = false;
    bool operator==(Attached const&) const = default;
};
// client: whether it could map that; if not, it has no lease. The owner answers Ended where the
// lease is over.
struct Mapped {
    std::uint32_t lease = 0;
    bool mapped = false;
    std::string text;  // why not
    bool operator==(Mapped const&) const = default;
};
struct Refused {  // owner: instead of an answer; with id 0 of the connection
    RefusalReason reason = RefusalReason::other;
    std::string text;
    bool operator==(Refused const&) const = default;
};
struct Detach {  // client: has no more use for it
    std::uint32_t lease = 0;
    bool operator==(Detach const&) const = default;
};
struct Notice {  // owner: what an object is at now
    std::string object;
    KernelState state = KernelState::running;
    std::string text;
    bool operator==(Notice const&) const = default;
};
struct Drained {  // client: in a kernel that drains: all is answered
    std::uint32_t lease = 0;
    bool operator==(Drained const&) const = default;
};

struct Look {                  // client: who has a place of an object, a block of a kernel?
    std::uint32_t object = 0;  // in the order in which they were added
    std::uint32_t place = 0;
    bool operator==(Look const&) const = default;
};
// What a client has done, and what may be anything therefore.
struct WireCounters {
    std::uint64_t submitted = 0;
    std::uint64_t answered = 0;
    std::uint64_t taken = 0;
    std::uint64_t dropped = 0;
    std::uint64_t stalls = 0;
    std::uint32_t depth = 0;
    bool operator==(WireCounters const&) const = default;
};
struct Seen {                   // owner: to Look
    std::uint32_t objects = 1;  // how many there are; 0: none, and the rest says nothing
    std::string object;
    ObjectKind kind = ObjectKind::kernel;
    KernelState state = KernelState::running;
    std::uint32_t places = 1;  // of the object
    BlockActivity activity = BlockActivity::idle;
    std::string client;  // empty: nobody, as what follows
    std::uint32_t process = 0;
    std::uint32_t user = 0;
    std::uint64_t held_ms = 0;
    WireCounters counters;  // of its client, and of those before
    WireCounters gone;
    std::uint64_t beats = 0;
    std::uint64_t beat_age_ms = 0;
    bool emulated = false;  // the device
    bool operator==(Seen const&) const = default;
};

struct Ended {  // owner: has taken a lease back
    std::uint32_t lease = 0;
    std::string text;  // why
    bool operator==(Ended const&) const = default;
};

using Message = std::variant<Hello, Welcome, Attach, Attached, Mapped, Refused, Detach, Notice,
                             Drained, Look, Seen, Ended>;

// Throws UsageError, in the name of `call`, for what is no name; `what` is it the name of.
void require_name(std::string_view call, std::string_view what, std::string_view name);
// The same for a control character, and for bytes that are no UTF-8.
void require_printable(std::string_view call, std::string_view what, std::string_view name);
// The name of a type, as processes send, compare and print it. A name that is too long is cut at a
// whole character, and "~" and a hash of the whole name follow: two long names stay two names.
[[nodiscard]] std::string sent_name(std::string_view type_name);
// What a client is called that says no name: a program may be called anything, so that what no name
// may have is a space, and what a name has no room for is left out.
[[nodiscard]] std::string name_of_program();

// What an error says, without the call that failed: for texts.
[[nodiscard]] std::string cause_of(Error const& error);

// `id`: of a request, and of its answer; 0 of what asks for no answer. Texts and names that are too
// long are cut, and control characters of a text become spaces. Throws UsageError for what decode()
// would refuse.
[[nodiscard]] std::vector<std::byte> encode(std::uint32_t id, Message const& message);

// How many go with it.
[[nodiscard]] std::size_t descriptors_of(Message const& message);

struct Decoded {
    std::uint32_t id = 0;
    Message message;
};
// `descriptors`: how many came with it, which is descriptors_of(); nothing where that is not known,
// since they were lost. Throws ProtocolError, which names the field, and VersionError, which names
// both versions.
[[nodiscard]] Decoded decode(std::span<std::byte const> bytes,
                             std::optional<std::size_t> descriptors);

}  // namespace carillon::detail
