// SPDX-License-Identifier: Apache-2.0
// What a store of buffers and its clients say to each other: messages as those of
// client_messages.hpp, with a magic number of their own ("CRST"). A client asks one thing at a
// time.
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

#include "carillon/device_info.hpp"
#include "carillon/error.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail::store {

inline constexpr std::uint16_t store_version = 5;
inline constexpr std::uint64_t largest_buffer = std::uint64_t{1} << 40;

struct Hello {  // client: the first
    std::string name;
    bool operator==(Hello const&) const = default;
};
struct Welcome {                 // store: to Hello
    std::uint32_t process = 0;   // its pid
    std::uint64_t instance = 0;  // another for each store that serves
    std::string name;
    bool operator==(Welcome const&) const = default;
};

struct Create {        // client: wants a buffer to write to
    std::string name;  // empty: none
    std::uint64_t bytes = 0;
    bool host_memory = false;
    bool operator==(Create const&) const = default;
};
struct Get {                   // client: wants to read one
    std::uint64_t buffer = 0;  // 0: the one of that name
    std::string name;
    bool operator==(Get const&) const = default;
};
struct Lent {  // store: to Create and Get, and after Watch, with the descriptor of its memory or
               // none
    std::uint64_t buffer = 0;  // from 1 on
    std::string name;
    std::uint64_t bytes = 0;
    bool sealed = false;
    MemorySource source = MemorySource::unknown;
    std::optional<std::array<std::uint8_t, 16>> uuid;  // of the GPU that has it
    bool write_combining = false;
    std::uint64_t memory = 0;  // its number: others' buffers may have it later
    std::uint64_t memory_bytes = 0;
    bool descriptor = false;   // false: this client has had it, and has not said Forget since
    std::uint64_t missed = 0;  // after Watch: so many before it were not lent
    bool operator==(Lent const&) const = default;
};
struct Seal {  // client: has written it
    std::uint64_t buffer = 0;
    bool operator==(Seal const&) const = default;
};
struct Release {  // client: has no more use for it
    std::uint64_t buffer = 0;
    bool operator==(Release const&) const = default;
};
struct Forget {  // client: has no mapping of that memory any more
    std::uint64_t memory = 0;
    bool operator==(Forget const&) const = default;
};
struct Remove {                // client: nobody is to get it any more
    std::uint64_t buffer = 0;  // as Get
    std::string name;
    bool operator==(Remove const&) const = default;
};
struct Done {                 // store: to Seal, Remove and Watch
    std::uint64_t spare = 0;  // to Remove: the memory that only this client gets now; 0: none
    bool operator==(Done const&) const = default;
};
struct Next {  // client: which buffer comes after that one?
    std::uint64_t buffer = 0;
    bool operator==(Next const&) const = default;
};
struct Listed {                // store: to Next
    std::uint64_t buffer = 0;  // 0: none, as what follows
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t memory_bytes = 0;
    bool sealed = false;
    bool host_memory = false;
    std::uint32_t holders = 0;
    std::uint32_t process = 0;  // of who made it
    std::uint32_t user = 0;
    bool operator==(Listed const&) const = default;
};
enum class SealedNews : std::uint8_t { none, words, buffers };
struct Watch {  // client: wants to hear of each buffer that is sealed, or to get it, or neither
    SealedNews news = SealedNews::words;
    // So many buffers have come that it had not asked for: those on their way are the store's.
    std::uint64_t came = 0;
    bool operator==(Watch const&) const = default;
};
struct Sealed {  // store: after Watch for words
    std::uint64_t buffer = 0;
    std::string name;
    std::uint64_t bytes = 0;
    std::uint64_t missed = 0;  // so many before it were not told
    bool operator==(Sealed const&) const = default;
};
struct Refused {  // store: instead of an answer; with id 0 of the connection
    RefusalReason reason = RefusalReason::other;
    std::string text;
    bool operator==(Refused const&) const = default;
};
struct Show {  // client: holds a buffer, and has no descriptor of its memory any more
    std::uint64_t buffer = 0;
    bool operator==(Show const&) const = default;
};
struct Shown {  // store: to Show, with the descriptor
    std::uint64_t memory = 0;
    bool operator==(Shown const&) const = default;
};
struct Unmapped {  // client: instead of Release, where it could make nothing of it
    std::uint64_t buffer = 0;
    std::string text;  // why
    bool operator==(Unmapped const&) const = default;
};
struct Missed {  // store: after Watch for buffers, where no other buffer has come since
    std::uint64_t count = 0;
    bool operator==(Missed const&) const = default;
};

using Message = std::variant<Hello, Welcome, Create, Get, Lent, Seal, Release, Forget, Remove, Done,
                             Next, Listed, Watch, Sealed, Refused, Show, Shown, Unmapped, Missed>;

// As those of client_messages.hpp.
[[nodiscard]] std::vector<std::byte> encode(std::uint32_t id, Message const& message);
struct Decoded {
    std::uint32_t id = 0;
    Message message;
};
// `descriptors`: how many came with it, which is what Lent says, 1 with Shown, and 0 with any
// other.
[[nodiscard]] Decoded decode(std::span<std::byte const> bytes, std::size_t descriptors);

}  // namespace carillon::detail::store
