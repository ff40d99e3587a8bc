// SPDX-License-Identifier: Apache-2.0
#include "serving/client_messages.hpp"

#include <fmt/format.h>

#include <cerrno>  // program_invocation_short_name
#include <limits>
#include <string_view>

#include "carillon/arguments.hpp"
#include "carillon/detail/protocol/mailbox.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/members.hpp"
#include "serving/framing.hpp"

namespace carillon::detail {
namespace {

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
    "Detach", "Notice",  "Drained", "Look",     "Seen",   "Ended"};
constexpr Protocol handshake{"handshake", kernels_magic, handshake_version, kinds};

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
    wire_flag(wire, "any_block", attached.any_block);
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

template <class Wire>
void fields(Wire& wire, Ended& ended) {
    wire_number(wire, "lease", ended.lease, 1, most_leases);
    wire_text(wire, "text", ended.text, longest_text);
}

constexpr auto fields_of = [](auto& wire, auto& message) { fields(wire, message); };

}  // namespace

void require_name(std::string_view call, std::string_view what, std::string_view name) {
    if (name == NameArgument::null_pointer) {
        throw UsageError(call, fmt::format("a null pointer for the name of the {}", what));
    }
    if (name.empty() || name.size() > longest_name) {
        throw UsageError(call, fmt::format("a name of {} characters for the {}: 1 to {} are",
                                           name.size(), what, longest_name));
    }
    require_printable(call, what, name);
}

void require_printable(std::string_view call, std::string_view what, std::string_view name) {
    if (unprintable(name) != std::string_view::npos) {
        throw UsageError(call, fmt::format("a control character in the name of the {}, or bytes "
                                           "that are no UTF-8",
                                           what));
    }
}

std::string sent_name(std::string_view type_name) {
    std::string name(type_name);
    if (name.size() <= longest_name) return name;
    std::string const hash = fmt::format("~{:016x}", hash_of(name, 0));
    cut(name, longest_name - hash.size());
    return name + hash;
}

std::string name_of_program() {
    std::string name = program_invocation_short_name;
    WireWriter::clean(name);
    cut(name, longest_name);
    return name.empty() ? "nameless" : name;
}

std::string cause_of(Error const& error) {
    std::string const text = error.what();
    std::string const call = error.call() + ": ";
    return text.starts_with(call) ? text.substr(call.size()) : text;
}

std::vector<std::byte> encode(std::uint32_t id, Message const& message) {
    return encode_frame(handshake, id, message, fields_of);
}

std::size_t descriptors_of(Message const& message) {
    auto const* attached = std::get_if<Attached>(&message);
    if (attached == nullptr) return 0;
    return attached->host_bytes == 0 ? 1 : most_descriptors_of_attached;
}

Decoded decode(std::span<std::byte const> bytes, std::optional<std::size_t> descriptors) {
    auto const header = read_frame_header<VersionError>(handshake, bytes);
    Decoded decoded{header.id, {}};
    decode_frame(handshake, header, bytes, decoded.message, fields_of);
    if (descriptors) {
        require_descriptors(handshake, header, *descriptors, descriptors_of(decoded.message));
    }
    return decoded;
}

}  // namespace carillon::detail
