// SPDX-License-Identifier: Apache-2.0
// A message with its header: a magic number, u16 version, u16 kind, u32 bytes of all of it, u32 id,
// and the members of its struct. Magic and version are where they are in every version: whoever
// gets another's message can say so.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "carillon/error.hpp"
#include "serving/message_fields.hpp"

namespace carillon::detail {

// What two processes say to each other: messages that are the members of a variant.
struct Protocol {
    std::string_view name;  // for people: "version 3 of the <name>"
    std::uint32_t magic = 0;
    std::uint16_t version = 0;
    std::span<std::string_view const> kinds;  // as the variant has them: kind 1 is the first
};

inline constexpr std::uint32_t kernels_magic = 0x4e4c5243;  // "CRLN"
inline constexpr std::uint32_t stores_magic = 0x54535243;   // "CRST"
// For people: what somebody speaks whose message has another magic number.
[[nodiscard]] inline std::string_view but_what(std::uint32_t magic) {
    if (magic == kernels_magic) return ", but what a Server and its clients speak (Connection)";
    if (magic == stores_magic)
        return ", but what a BufferStore and its clients speak (StoreConnection)";
    return "";
}

struct FrameHeader {
    std::uint16_t kind = 0;  // from 1 on
    std::uint32_t size = 0;
    std::uint32_t id = 0;
};
inline constexpr std::size_t frame_header_bytes = 16;

// Throws ProtocolError, which names the field, and `Versions` for another version.
template <class Versions>
[[nodiscard]] FrameHeader read_frame_header(Protocol const& protocol,
                                            std::span<std::byte const> bytes) {
    WireReader wire("header", bytes.first(std::min(bytes.size(), frame_header_bytes)));
    std::uint32_t magic = 0;
    std::uint16_t version = 0;
    FrameHeader header;
    wire.raw("magic", magic);
    wire.raw("version", version);
    if (magic != protocol.magic) {
        wire.fail("magic", fmt::format("{:#010x} is not {:#010x}: that is not the {}{}", magic,
                                       protocol.magic, protocol.name, but_what(magic)));
    }
    if (version != protocol.version) {
        throw Versions("decode",
                       fmt::format("the other process has version {} of the {}, this one has {}",
                                   version, protocol.name, protocol.version));
    }
    wire_number(wire, "kind", header.kind, 1, static_cast<std::uint16_t>(protocol.kinds.size()));
    wire.raw("size", header.size);
    wire.raw("id", header.id);
    if (header.size == bytes.size()) return header;
    wire.fail("size", fmt::format("{} bytes are said, {} came", header.size, bytes.size()));
}

// `fields`: called with a wire and a message, lists the members.
template <class... Each, class Fields>
[[nodiscard]] std::vector<std::byte> encode_frame(Protocol const& protocol, std::uint32_t id,
                                                  std::variant<Each...> const& message,
                                                  Fields&& fields) {
    std::vector<std::byte> bytes;
    WireWriter wire(protocol.kinds[message.index()], bytes);
    wire.raw("magic", protocol.magic);
    wire.raw("version", protocol.version);
    wire.raw("kind", static_cast<std::uint16_t>(message.index() + 1));
    std::size_t const size_at = bytes.size();
    wire.raw("size", std::uint32_t{0});
    wire.raw("id", id);
    // A copy: what is too long is cut in it.
    std::visit([&](auto sent) { fields(wire, sent); }, message);
    auto const size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data() + size_at, &size, sizeof(size));
    return bytes;
}

template <class... Each, class Fields>
void decode_frame(Protocol const& protocol, FrameHeader const& header,
                  std::span<std::byte const> bytes, std::variant<Each...>& into, Fields&& fields) {
    std::size_t const index = header.kind - 1U;
    WireReader wire(protocol.kinds[index], bytes.subspan(frame_header_bytes));
    std::size_t at = 0;
    auto const read_if = [&]<class One>(std::type_identity<One> /*which*/) {
        if (at++ == index) fields(wire, into.template emplace<One>());
    };
    (read_if(std::type_identity<Each>()), ...);
    wire.end();
}

// Throws ProtocolError unless as many came as the message has.
inline void require_descriptors(Protocol const& protocol, FrameHeader const& header,
                                std::size_t came, std::size_t wanted) {
    if (came == wanted) return;
    throw ProtocolError("decode", fmt::format("{}: descriptors: {} came with it, not {}",
                                              protocol.kinds[header.kind - 1U], came, wanted));
}

}  // namespace carillon::detail
