// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_messages.hpp"

#include <limits>

#include "serving/framing.hpp"

namespace carillon::detail::store {
namespace {

constexpr std::uint64_t most_numbers = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t most_processes = std::numeric_limits<std::int32_t>::max();

constexpr std::array<std::string_view, std::variant_size_v<Message>> store_kinds{
    "Hello",   "Welcome", "Create", "Get",      "Lent",   "Seal",  "Release",
    "Forget",  "Remove",  "Done",   "Next",     "Listed", "Watch", "Sealed",
    "Refused", "Show",    "Shown",  "Unmapped", "Missed"};
constexpr Protocol store_protocol{"store's messages", stores_magic, store_version, store_kinds};

template <class Wire>
void fields(Wire& wire, Hello& hello) {
    wire_name(wire, "name", hello.name, longest_name);
}

template <class Wire>
void fields(Wire& wire, Welcome& welcome) {
    wire_number(wire, "process", welcome.process, 1, most_processes);
    wire_number(wire, "instance", welcome.instance, 1, most_numbers);
    wire_name(wire, "name", welcome.name, longest_name);
}

template <class Wire>
void fields(Wire& wire, Create& create) {
    wire_text(wire, "name", create.name, longest_name);
    wire_number(wire, "bytes", create.bytes, 1, largest_buffer);
    wire_flag(wire, "host_memory", create.host_memory);
}

// By number or by name, and not both.
template <class Wire>
void key_fields(Wire& wire, std::uint64_t& buffer, std::string& name) {
    wire.raw("buffer", buffer);
    wire_text(wire, "name", name, longest_name);
    if ((buffer == 0) == name.empty()) wire.fail("name", "a number or a name says which");
}

template <class Wire>
void fields(Wire& wire, Get& get) {
    key_fields(wire, get.buffer, get.name);
}

template <class Wire>
void fields(Wire& wire, Remove& remove) {
    key_fields(wire, remove.buffer, remove.name);
}

template <class Wire>
void uuid_fields(Wire& wire, Lent& lent) {
    bool there = lent.uuid.has_value();
    std::array<std::uint8_t, 16> bytes = lent.uuid.value_or(std::array<std::uint8_t, 16>{});
    wire_flag(wire, "uuid", there);
    for (std::uint8_t& byte : bytes) wire_number(wire, "uuid", byte, 0, there ? 0xff : 0);
    lent.uuid = there ? std::optional(bytes) : std::nullopt;
}

template <class Wire>
void fields(Wire& wire, Lent& lent) {
    wire_number(wire, "buffer", lent.buffer, 1, most_numbers);
    wire_text(wire, "name", lent.name, longest_name);
    wire_number(wire, "bytes", lent.bytes, 1, largest_buffer);
    wire_flag(wire, "sealed", lent.sealed);
    wire_enumerator(wire, "source", lent.source, MemorySource::vulkan, MemorySource::memfd);
    uuid_fields(wire, lent);
    wire_flag(wire, "write_combining", lent.write_combining);
    wire_number(wire, "memory", lent.memory, 1, most_numbers);
    wire_number(wire, "memory_bytes", lent.memory_bytes, 1, 2 * largest_buffer);
    wire_flag(wire, "descriptor", lent.descriptor);
    wire.raw("missed", lent.missed);
    if (lent.bytes > lent.memory_bytes) wire.fail("bytes", "the memory has fewer");
}

template <class Wire>
void fields(Wire& wire, Seal& seal) {
    wire_number(wire, "buffer", seal.buffer, 1, most_numbers);
}

template <class Wire>
void fields(Wire& wire, Release& release) {
    wire_number(wire, "buffer", release.buffer, 1, most_numbers);
}

template <class Wire>
void fields(Wire& wire, Forget& forget) {
    wire_number(wire, "memory", forget.memory, 1, most_numbers);
}

template <class Wire>
void fields(Wire& wire, Done& done) {
    wire.raw("spare", done.spare);
}

template <class Wire>
void fields(Wire& wire, Next& next) {
    wire.raw("buffer", next.buffer);
}

template <class Wire>
void fields(Wire& wire, Listed& listed) {
    wire.raw("buffer", listed.buffer);
    wire_text(wire, "name", listed.name, longest_name);
    wire_number(wire, "bytes", listed.bytes, 0, largest_buffer);
    wire_number(wire, "memory_bytes", listed.memory_bytes, 0, 2 * largest_buffer);
    wire_flag(wire, "sealed", listed.sealed);
    wire_flag(wire, "host_memory", listed.host_memory);
    wire.raw("holders", listed.holders);
    wire_number(wire, "process", listed.process, 0, most_processes);
    wire.raw("user", listed.user);
}

template <class Wire>
void fields(Wire& wire, Watch& watch) {
    wire_enumerator(wire, "news", watch.news, SealedNews::none, SealedNews::buffers);
    wire.raw("came", watch.came);
}

template <class Wire>
void fields(Wire& wire, Sealed& sealed) {
    wire_number(wire, "buffer", sealed.buffer, 1, most_numbers);
    wire_text(wire, "name", sealed.name, longest_name);
    wire_number(wire, "bytes", sealed.bytes, 1, largest_buffer);
    wire.raw("missed", sealed.missed);
}

template <class Wire>
void fields(Wire& wire, Refused& refused) {
    wire_enumerator(wire, "reason", refused.reason, RefusalReason::version, RefusalReason::other);
    wire_text(wire, "text", refused.text, longest_text);
}

template <class Wire>
void fields(Wire& wire, Show& show) {
    wire_number(wire, "buffer", show.buffer, 1, most_numbers);
}

template <class Wire>
void fields(Wire& wire, Shown& shown) {
    wire_number(wire, "memory", shown.memory, 1, most_numbers);
}

template <class Wire>
void fields(Wire& wire, Unmapped& unmapped) {
    wire_number(wire, "buffer", unmapped.buffer, 1, most_numbers);
    wire_text(wire, "text", unmapped.text, longest_text);
}

template <class Wire>
void fields(Wire& wire, Missed& missed) {
    wire_number(wire, "count", missed.count, 1, most_numbers);
}

constexpr auto fields_of = [](auto& wire, auto& message) { fields(wire, message); };

}  // namespace

std::vector<std::byte> encode(std::uint32_t id, Message const& message) {
    return encode_frame(store_protocol, id, message, fields_of);
}

Decoded decode(std::span<std::byte const> bytes, std::size_t descriptors) {
    auto const header = read_frame_header<VersionError>(store_protocol, bytes);
    Decoded decoded{header.id, {}};
    decode_frame(store_protocol, header, bytes, decoded.message, fields_of);
    auto const* lent = std::get_if<Lent>(&decoded.message);
    bool const with_one =
        (lent != nullptr && lent->descriptor) || std::holds_alternative<Shown>(decoded.message);
    require_descriptors(store_protocol, header, descriptors, with_one ? 1 : 0);
    return decoded;
}

}  // namespace carillon::detail::store
