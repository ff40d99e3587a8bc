// SPDX-License-Identifier: Apache-2.0
#include "ipc/messages.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>

#include "carillon/detail/protocol/mailbox.hpp"
#include "carillon/detail/wire/line.hpp"
#include "ipc/wire.hpp"

namespace carillon::detail {
namespace {

constexpr std::uint32_t handshake_magic = 0x4e4c5243;  // "CRLN"
constexpr std::size_t header_bytes = 16;
constexpr std::size_t size_at = 8;  // of the header

constexpr std::uint32_t most_leases = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 40;
constexpr std::uint32_t most_slots = 1U << 20;
constexpr std::uint32_t most_lines = 128;  // of a slot: those of the largest mailbox value
constexpr std::uint32_t most_places = 1U << 16;
constexpr std::uint32_t most_objects = 1U << 16;
constexpr std::uint64_t most_milliseconds = std::uint64_t{1} << 40;  // nanoseconds have room too

static_assert(most_lines * mailbox_bytes_per_line >= largest_mailbox_value);

// As the variant has them: kind 1 is the first.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kinds{
    "Hello",  "Welcome", "Attach",  "Attached", "Mapped", "Refused",
    "Detach", "Notice",  "Drained", "Look",     "Seen"};

template <class Wire>
void fields(Wire& wire, Hello& hello) {
    wire_name(wire, "name", hello.name, longest_name);
}

template <class Wire>
void fields(Wire& wire, Welcome& welcome) {
    wire_number(wire, "process", welcome.process, 1, std::numeric_limits<std::int32_t>::max());
    wire_number(wire, "instance", welcome.instance, 1, std::numeric_limits<std::uint64_t>::max());
    wire_name(wire, "name", welcome.name, longest_name);
}

template <class Wire>
void type_fields(Wire& wire, std::string const& which, WireType& type) {
    wire_number(wire, which + ".bytes", type.bytes, 1, largest_mailbox_value);
    wire_power_of_two(wire, which + ".alignment", type.alignment, 1, largest_mailbox_value);
    wire.raw(which + ".layout", type.layout);
    wire.raw(which + ".members", type.members);
    wire_number(wire, which + ".slot_lines", type.slot_lines, 1, most_lines);
    wire_name(wire, which + ".name", type.name, longest_name);
}

template <class Wire>
void fields(Wire& wire, Attach& attach) {
    wire_name(wire, "object", attach.object, longest_name);
    wire_enumerator(wire, "kind", attach.kind, ObjectKind::kernel, ObjectKind::log);
    type_fields(wire, "request", attach.request);
    type_fields(wire, "reply", attach.reply);
    wire_flag(wire, "host_memory", attach.host_memory);
}

template <class Wire>
void uuid_fields(Wire& wire, Attached& attached) {
    bool there = attached.uuid.has_value();
    std::array<std::uint8_t, 16> bytes = attached.uuid.value_or(std::array<std::uint8_t, 16>{});
    wire_flag(wire, "uuid", there);
    for (std::uint8_t& byte : bytes) wire_number(wire, "uuid", byte, 0, there ? 0xff : 0);
    attached.uuid = there ? std::optional(bytes) : std::nullopt;
}

template <class Wire>
void fields(Wire& wire, Attached& attached) {
    wire_number(wire, "lease", attached.lease, 1, most_leases);
    wire_enumerator(wire, "source", attached.source, MemorySource::vulkan, MemorySource::memfd);
    uuid_fields(wire, attached);
    wire_number(wire, "device_bytes", attached.device_bytes, 1, most_bytes);
    wire_number(wire, "host_bytes", attached.host_bytes, 0, most_bytes);
    wire_power_of_two(wire, "shape.capacity", attached.shape.capacity, 2, most_slots);
    wire_number(wire, "shape.request_lines", attached.shape.request_lines, 1, most_lines);
    wire_number(wire, "shape.reply_lines", attached.shape.reply_lines, 1, most_lines);
    wire.raw("chunk_bytes", attached.chunk_bytes);
    wire_number(wire, "first", attached.first, 1, Sequence{1} << 63);
    wire_number(wire, "blocks", attached.blocks, 1, most_places);
    wire_flag(wire, "in_pairs", attached.in_pairs);
    wire_flag(wire, "write_combining", attached.write_combining);
    wire_flag(wire, "read_back", attached.read_back);
    wire_flag(wire, "shares_processors", attached.shares_processors);
}

template <class Wire>
void fields(Wire& wire, Mapped& mapped) {
    wire_number(wire, "lease", mapped.lease, 1, most_leases);
    wire_flag(wire, "mapped", mapped.mapped);
    wire_text(wire, "text", mapped.text, longest_text);
    if (mapped.mapped && !mapped.text.empty()) wire.fail("text", "it says why not, and it is");
}

template <class Wire>
void fields(Wire& wire, Refused& refused) {
    wire_enumerator(wire, "reason", refused.reason, RefusalReason::version, RefusalReason::other);
    wire_text(wire, "text", refused.text, longest_text);
}

template <class Wire>
void fields(Wire& wire, Detach& detach) {
    wire_number(wire, "lease", detach.lease, 1, most_leases);
}

template <class Wire>
void fields(Wire& wire, Notice& notice) {
    wire_name(wire, "object", notice.object, longest_name);
    wire_enumerator(wire, "state", notice.state, KernelState::starting, KernelState::failed);
    wire_text(wire, "text", notice.text, longest_text);
}

template <class Wire>
void fields(Wire& wire, Drained& drained) {
    wire_number(wire, "lease", drained.lease, 1, most_leases);
}

template <class Wire>
void fields(Wire& wire, Look& look) {
    wire_number(wire, "object", look.object, 0, most_objects - 1);
    wire_number(wire, "place", look.place, 0, most_places - 1);
}

template <class Wire>
void counter_fields(Wire& wire, std::string const& whose, WireCounters& counters) {
    wire.raw(whose + ".submitted", counters.submitted);
    wire.raw(whose + ".answered", counters.answered);
    wire.raw(whose + ".taken", counters.taken);
    wire.raw(whose + ".dropped", counters.dropped);
    wire.raw(whose + ".stalls", counters.stalls);
    wire.raw(whose + ".depth", counters.depth);
}

template <class Wire>
void fields(Wire& wire, Seen& seen) {
    wire_number(wire, "objects", seen.objects, 0, most_objects);
    wire_text(wire, "object", seen.object, longest_name);
    wire_enumerator(wire, "kind", seen.kind, ObjectKind::kernel, ObjectKind::log);
    wire_enumerator(wire, "state", seen.state, KernelState::starting, KernelState::failed);
    wire_number(wire, "places", seen.places, 1, most_places);
    wire_enumerator(wire, "activity", seen.activity, BlockActivity::idle, BlockActivity::ended);
    wire_text(wire, "client", seen.client, longest_name);
    wire_number(wire, "process", seen.process, 0, std::numeric_limits<std::int32_t>::max());
    wire.raw("user", seen.user);
    wire.raw("held_ms", seen.held_ms);
    counter_fields(wire, "counters", seen.counters);
    counter_fields(wire, "gone", seen.gone);
    wire.raw("beats", seen.beats);
    wire_number(wire, "beat_age_ms", seen.beat_age_ms, 0, most_milliseconds);
    wire_flag(wire, "emulated", seen.emulated);
}

struct Header {
    std::uint32_t magic = handshake_magic;
    std::uint16_t version = handshake_version;
    std::uint16_t kind = 0;  // from 1 on
    std::uint32_t size = 0;
    std::uint32_t id = 0;
};

void check_magic_and_version(WireReader const& wire, Header const& header) {
    if (header.magic != handshake_magic) {
        wire.fail("magic", fmt::format("{:#010x} is not {:#010x}: that is no process of this "
                                       "library",
                                       header.magic, handshake_magic));
    }
    if (header.version == handshake_version) return;
    throw VersionError("decode", fmt::format("the other process has version {} of the handshake, "
                                             "this one has {}",
                                             header.version, handshake_version));
}

// What is behind the version may be of another form in another one.
Header read_header(std::span<std::byte const> bytes) {
    WireReader wire("header", bytes.first(std::min(bytes.size(), header_bytes)));
    Header header;
    wire.raw("magic", header.magic);
    wire.raw("version", header.version);
    check_magic_and_version(wire, header);
    wire_number(wire, "kind", header.kind, 1, kinds.size());
    wire.raw("size", header.size);
    wire.raw("id", header.id);
    if (header.size == bytes.size()) return header;
    wire.fail("size", fmt::format("{} bytes are said, {} came", header.size, bytes.size()));
}

template <class... Each>
void read_kind(WireReader& wire, std::size_t index, std::variant<Each...>& into) {
    std::size_t at = 0;
    auto const read_if = [&]<class One>(std::type_identity<One> /*which*/) {
        if (at++ == index) fields(wire, into.template emplace<One>());
    };
    (read_if(std::type_identity<Each>()), ...);
}

}  // namespace

void require_name(std::string_view call, std::string_view what, std::string_view name) {
    if (name.empty() || name.size() > longest_name) {
        throw UsageError(call, fmt::format("a name of {} characters for the {}: 1 to {} are",
                                           name.size(), what, longest_name));
    }
    if (control_character(name) != std::string_view::npos) {
        throw UsageError(call, fmt::format("a control character in the name of the {}", what));
    }
}

std::string cause_of(Error const& error) {
    std::string const text = error.what();
    std::string const call = error.call() + ": ";
    return text.starts_with(call) ? text.substr(call.size()) : text;
}

std::vector<std::byte> encode(std::uint32_t id, Message const& message) {
    std::vector<std::byte> bytes;
    WireWriter wire(kinds.at(message.index()), bytes);
    wire.raw("magic", handshake_magic);
    wire.raw("version", handshake_version);
    wire.raw("kind", static_cast<std::uint16_t>(message.index() + 1));
    wire.raw("size", std::uint32_t{0});
    wire.raw("id", id);
    // A copy: what is too long is cut in it.
    std::visit([&](auto sent) { fields(wire, sent); }, message);
    auto const size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data() + size_at, &size, sizeof(size));
    return bytes;
}

std::size_t descriptors_of(Message const& message) {
    auto const* attached = std::get_if<Attached>(&message);
    if (attached == nullptr) return 0;
    return attached->host_bytes == 0 ? 1 : most_descriptors_of_attached;
}

Decoded decode(std::span<std::byte const> bytes, std::optional<std::size_t> descriptors) {
    Header const header = read_header(bytes);
    std::size_t const index = header.kind - 1U;
    WireReader wire(kinds.at(index), bytes.subspan(header_bytes));
    Decoded decoded{header.id, {}};
    read_kind(wire, index, decoded.message);
    wire.end();
    std::size_t const wanted = descriptors_of(decoded.message);
    if (descriptors && *descriptors != wanted) {
        wire.fail("descriptors", fmt::format("{} came with it, not {}", *descriptors, wanted));
    }
    return decoded;
}

}  // namespace carillon::detail
