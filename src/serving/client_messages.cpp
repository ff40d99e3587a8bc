// SPDX-License-Identifier: Apache-2.0
// How each message lies in bytes, and what each of its fields may be: one list for both directions.
#include "serving/client_messages.hpp"

#include <algorithm>
#include <cerrno>  // program_invocation_short_name
#include <chrono>
#include <cstring>
#include <limits>
#include <type_traits>

#include "carillon/arguments.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/members.hpp"
#include "serving/message_fields.hpp"
#include "serving/object_kinds.hpp"

namespace carillon::detail {
namespace {

constexpr std::uint32_t most_leases = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t most_numbers = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint32_t most_processes = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t most_bytes = 2 * largest_buffer;
constexpr std::uint32_t most_slots = 1U << 20;
constexpr std::uint32_t most_lines = 128;  // of a slot: those of the largest mailbox value
constexpr std::uint32_t most_places = 1U << 16;
constexpr std::uint32_t most_objects = 1U << 16;
constexpr std::int64_t most_milliseconds = std::int64_t{1} << 40;  // nanoseconds have room too
constexpr std::size_t header_bytes = 16;
constexpr std::size_t size_at = 8;  // in the header

static_assert(most_lines * mailbox_bytes_per_line >= largest_mailbox_value);

// The order is the variant's: kind 1 is the first.
constexpr std::array<std::string_view, std::variant_size_v<Message>> kinds{
    "Hello",      "Welcome",       "Refused",        "Attach",       "Attached",
    "Mapped",     "Detach",        "Notice",         "Drained",      "Ended",
    "Look",       "Seen",          "CreateBuffer",   "GetBuffer",    "LentBuffer",
    "SealBuffer", "ReleaseBuffer", "UnmappedBuffer", "ForgetMemory", "RemoveBuffer",
    "BufferDone", "NextBuffer",    "ListedBuffer",   "WatchBuffers", "SealedNotice",
    "ShowMemory", "ShownMemory",   "MissedBuffers"};

template <class Message, class... Kinds>
concept OneOf = (std::is_same_v<Message, Kinds> || ...);

void fields(auto& wire, Hello& hello) { wire_name(wire, "name", hello.name, longest_name); }

void fields(auto& wire, Welcome& welcome) {
    wire_number(wire, "process", welcome.owner.process, 1, most_processes);
    wire_number(wire, "instance", welcome.owner.instance, 1, most_numbers);
    wire_name(wire, "name", welcome.owner.name, longest_name);
}

void fields(auto& wire, Refused& refused) {
    wire_enumerator(wire, "reason", refused.reason, RefusalReason::version, RefusalReason::other);
    wire_text(wire, "text", refused.text, longest_text);
}

void memory_fields(auto& wire, WireMemory& memory) {
    wire_enumerator(wire, "source", memory.source, MemorySource::vulkan, MemorySource::memfd);
    bool there = memory.uuid.has_value();
    std::array<std::uint8_t, 16> bytes = memory.uuid.value_or(std::array<std::uint8_t, 16>{});
    wire_flag(wire, "uuid", there);
    for (std::uint8_t& byte : bytes) wire_number(wire, "uuid", byte, 0, there ? 0xff : 0);
    memory.uuid = there ? std::optional(bytes) : std::nullopt;
    wire_number(wire, "memory_bytes", memory.bytes, 1, most_bytes);
    wire_flag(wire, "write_combining", memory.write_combining);
}

void type_fields(auto& wire, std::string const& which, MessageType& type) {
    type.name = sent_name(type.name);
    wire_number(wire, which + ".bytes", type.bytes, 1, largest_mailbox_value);
    wire_power_of_two(wire, which + ".alignment", type.alignment, 1, largest_mailbox_value);
    wire.raw(which + ".layout", type.layout);
    wire.raw(which + ".members", type.members);
    wire_number(wire, which + ".slot_lines", type.slot_lines, 1, most_lines);
    wire_name(wire, which + ".name", type.name, longest_name);
}

void fields(auto& wire, Attach& attach) {
    wire_name(wire, "object", attach.object, longest_name);
    wire_enumerator(wire, "kind", attach.kind, ObjectKind::kernel, last_kind());
    type_fields(wire, "request", attach.request);
    type_fields(wire, "reply", attach.reply);
    wire_flag(wire, "host_memory", attach.host_memory);
}

void fields(auto& wire, Attached& attached) {
    wire_number(wire, "lease", attached.lease, 1, most_leases);
    memory_fields(wire, attached.memory);
    wire_number(wire, "host_bytes", attached.host_bytes, 0, most_bytes);
    wire_power_of_two(wire, "shape.capacity", attached.shape.capacity, 2, most_slots);
    wire_number(wire, "shape.request_lines", attached.shape.request_lines, 1, most_lines);
    wire_number(wire, "shape.reply_lines", attached.shape.reply_lines, 1, most_lines);
    wire.raw("chunk_bytes", attached.chunk_bytes);
    wire_number(wire, "first", attached.first, 1, Sequence{1} << 63);
    wire_number(wire, "blocks", attached.blocks, 1, most_places);
    wire_flag(wire, "in_pairs", attached.in_pairs);
    wire_flag(wire, "any_block", attached.any_block);
    wire_flag(wire, "read_back", attached.read_back);
    wire_flag(wire, "shares_processors", attached.shares_processors);
}

void fields(auto& wire, Mapped& mapped) {
    wire_number(wire, "lease", mapped.lease, 1, most_leases);
    wire_flag(wire, "mapped", mapped.mapped);
    wire_text(wire, "text", mapped.text, longest_text);
    if (mapped.mapped && !mapped.text.empty())
        wire.fail("text", "the text is not empty, but the object was mapped");
}

void fields(auto& wire, OneOf<Detach, Drained> auto& of) {
    wire_number(wire, "lease", of.lease, 1, most_leases);
}

void fields(auto& wire, Notice& notice) {
    wire_name(wire, "object", notice.object, longest_name);
    wire_enumerator(wire, "state", notice.state, KernelState::starting, KernelState::failed);
    wire_text(wire, "text", notice.text, longest_text);
}

void fields(auto& wire, Look& look) {
    wire_number(wire, "object", look.object, 0, most_objects - 1);
    wire_number(wire, "place", look.place, 0, most_places - 1);
}

void counter_fields(auto& wire, std::string const& whose, ChannelCounters& counters) {
    wire.raw(whose + ".submitted", counters.submitted);
    wire.raw(whose + ".answered", counters.answered);
    wire.raw(whose + ".taken", counters.taken);
    wire.raw(whose + ".dropped", counters.dropped);
    wire.raw(whose + ".stalls", counters.stalls);
    wire.raw(whose + ".depth", counters.depth);
}

void wire_milliseconds(auto& wire, std::string_view field, auto& time) {
    auto number = std::chrono::duration_cast<std::chrono::milliseconds>(time).count();
    wire_number(wire, field, number, 0, most_milliseconds);
    time = std::chrono::milliseconds(number);
}

void fields(auto& wire, Seen& seen) {
    wire_number(wire, "objects", seen.objects, 0, most_objects);
    wire_text(wire, "object", seen.object, longest_name);
    wire_enumerator(wire, "kind", seen.kind, ObjectKind::kernel, last_kind());
    wire_enumerator(wire, "state", seen.state, KernelState::starting, KernelState::failed);
    wire_number(wire, "places", seen.places, 1, most_places);
    ServedBlock& block = seen.block;
    wire_enumerator(wire, "activity", block.activity, BlockActivity::idle, BlockActivity::ended);
    wire_text(wire, "client", block.client, longest_name);
    wire_number(wire, "process", block.process, 0, most_processes);
    wire.raw("user", block.user);
    wire_milliseconds(wire, "held_ms", block.held);
    counter_fields(wire, "counters", block.counters);
    counter_fields(wire, "gone", block.gone);
    wire.raw("beats", block.beats.seen);
    wire_milliseconds(wire, "beat_age_ms", block.beats.age);
    wire_flag(wire, "emulated", seen.emulated);
    bool has_store = seen.store.has_value();
    StoreStatus store = seen.store.value_or(StoreStatus{});
    wire_flag(wire, "has_store", has_store);
    std::uint64_t const most = has_store ? most_numbers : 0;
    wire_number(wire, "buffers", store.buffers, 0, most);
    wire_number(wire, "sealed_buffers", store.sealed, 0, most);
    wire_number(wire, "buffer_bytes", store.bytes, 0, most);
    wire_number(wire, "most_buffer_bytes", store.most_bytes, 0, most);
    seen.store = has_store ? std::optional(store) : std::nullopt;
}

void fields(auto& wire, Ended& ended) {
    wire_number(wire, "lease", ended.lease, 1, most_leases);
    wire_text(wire, "text", ended.text, longest_text);
}

void fields(auto& wire, CreateBuffer& create) {
    wire_text(wire, "name", create.name, longest_name);
    wire_number(wire, "bytes", create.bytes, 1, largest_buffer);
    wire_flag(wire, "host_memory", create.host_memory);
}

// The key is a number or a name, and not both.
void fields(auto& wire, OneOf<GetBuffer, RemoveBuffer> auto& of) {
    wire.raw("buffer", of.key.id);
    wire_text(wire, "name", of.key.name, longest_name);
    if ((of.key.id == 0) == of.key.name.empty())
        wire.fail("name", "give either a number or a name");
}

void fields(auto& wire, LentBuffer& lent) {
    wire_number(wire, "buffer", lent.info.id, 1, most_numbers);
    wire_text(wire, "name", lent.info.name, longest_name);
    wire_number(wire, "bytes", lent.info.size, 1, largest_buffer);
    wire_flag(wire, "sealed", lent.info.sealed);
    memory_fields(wire, lent.memory);
    wire_number(wire, "memory_number", lent.memory_number, 1, most_numbers);
    wire_flag(wire, "descriptor", lent.descriptor);
    wire.raw("missed", lent.missed);
    if (lent.info.size > lent.memory.bytes) wire.fail("bytes", "the memory is smaller");
}

void fields(auto& wire, OneOf<SealBuffer, ReleaseBuffer, ShowMemory> auto& of) {
    wire_number(wire, "buffer", of.buffer, 1, most_numbers);
}

void fields(auto& wire, OneOf<ForgetMemory, ShownMemory> auto& of) {
    wire_number(wire, "memory", of.memory, 1, most_numbers);
}

void fields(auto& wire, BufferDone& done) { wire.raw("spare", done.spare); }

void fields(auto& wire, NextBuffer& next) { wire.raw("buffer", next.buffer); }

void fields(auto& wire, BufferInfo& listed) {
    wire.raw("buffer", listed.id);
    wire_text(wire, "name", listed.name, longest_name);
    wire_number(wire, "bytes", listed.size, 0, largest_buffer);
    wire_number(wire, "memory_bytes", listed.memory, 0, most_bytes);
    wire_flag(wire, "sealed", listed.sealed);
    wire_flag(wire, "host_memory", listed.host_memory);
    wire.raw("holders", listed.holders);
    wire_number(wire, "process", listed.process, 0, most_processes);
    wire.raw("user", listed.user);
}

void fields(auto& wire, WatchBuffers& watch) {
    wire_enumerator(wire, "news", watch.news, SealedNews::none, SealedNews::buffers);
    wire.raw("came", watch.came);
}

void fields(auto& wire, SealedBuffer& sealed) {
    wire_number(wire, "buffer", sealed.id, 1, most_numbers);
    wire_text(wire, "name", sealed.name, longest_name);
    wire_number(wire, "bytes", sealed.size, 1, largest_buffer);
    wire.raw("missed", sealed.missed);
}

void fields(auto& wire, UnmappedBuffer& unmapped) {
    wire_number(wire, "buffer", unmapped.buffer, 1, most_numbers);
    wire_text(wire, "text", unmapped.text, longest_text);
}

void fields(auto& wire, MissedBuffers& missed) {
    wire_number(wire, "count", missed.count, 1, most_numbers);
}

struct Header {
    std::uint16_t kind = 0;  // from 1 on
    std::uint32_t id = 0;
};

// Throws ProtocolError, which names the field, and VersionError.
Header read_header(std::span<std::byte const> bytes) {
    WireReader wire("header", bytes.first(std::min(bytes.size(), header_bytes)));
    std::uint32_t magic = 0;
    std::uint16_t version = 0;
    std::uint32_t size = 0;
    Header header;
    wire.raw("magic", magic);
    if (magic != messages_magic && magic != former_store_magic) {
        wire.fail(
            "magic",
            fmt::format(
                "{:#010x} is not {:#010x}: the other process is not a Carillon owner or client",
                magic, messages_magic));
    }
    wire.raw("version", version);
    if (magic != messages_magic || version != messages_version) {
        throw VersionError(
            fmt::format("the other process has version {} of the {}, this one has {}", version,
                        magic == messages_magic ? "messages" : "messages of a store",
                        messages_version),
            magic);
    }
    wire_number(wire, "kind", header.kind, 1, static_cast<std::uint16_t>(kinds.size()));
    wire.raw("size", size);
    wire.raw("id", header.id);
    if (size == bytes.size()) return header;
    wire.fail("size", fmt::format("the header says {} bytes, but {} came", size, bytes.size()));
}

template <class... Each>
void read_message(Header const& header, std::span<std::byte const> bytes,
                  std::variant<Each...>& into) {
    std::size_t const index = header.kind - 1U;
    WireReader wire(kinds[index], bytes.subspan(header_bytes));
    std::size_t at = 0;
    auto const read_if = [&]<class One>(std::type_identity<One> /*which*/) {
        if (at++ == index) fields(wire, into.template emplace<One>());
    };
    (read_if(std::type_identity<Each>()), ...);
    wire.end();
}

}  // namespace

void require_name(std::string_view what, std::string_view name) {
    if (name == NameArgument::null_pointer) {
        throw UsageError(fmt::format("the name of the {} is a null pointer", what));
    }
    if (name.empty() || name.size() > longest_name) {
        throw UsageError(fmt::format("a name of {} characters for the {}: it needs 1 to {}",
                                     name.size(), what, longest_name));
    }
    require_printable(what, name);
}

void require_printable(std::string_view what, std::string_view name) {
    if (unprintable(name) == std::string_view::npos) return;
    throw UsageError(
        fmt::format("the name of the {} has a control character or is not UTF-8", what));
}

std::string sent_name(std::string_view type_name) {
    std::string name(type_name);
    if (name.size() <= longest_name) return name;
    std::string const hash = fmt::format("~{:016x}", hash_of(name, 0));
    name.resize(cut(name, longest_name - hash.size()).size());
    return name + hash;
}

std::string name_of_program() {
    std::string name = program_invocation_short_name;
    WireWriter::clean(name);
    name.resize(cut(name, longest_name).size());
    return name.empty() ? "nameless" : name;
}

std::vector<std::byte> encode(std::uint32_t id, Message const& message, std::uint32_t magic) {
    std::vector<std::byte> bytes;
    WireWriter wire(kinds[message.index()], bytes);
    wire.raw("magic", magic);
    wire.raw("version", messages_version);
    wire.raw("kind", static_cast<std::uint16_t>(message.index() + 1));
    wire.raw("size", std::uint32_t{0});
    wire.raw("id", id);
    // `sent` is a copy: names and texts that are too long are cut in it.
    std::visit([&](auto sent) { fields(wire, sent); }, message);
    auto const size = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data() + size_at, &size, sizeof(size));
    return bytes;
}

std::size_t descriptors_of(Message const& message) {
    if (auto const* attached = std::get_if<Attached>(&message)) {
        return attached->host_bytes == 0 ? 1 : 2;
    }
    auto const* lent = std::get_if<LentBuffer>(&message);
    bool const one =
        (lent != nullptr && lent->descriptor) || std::holds_alternative<ShownMemory>(message);
    return one ? 1 : 0;
}

Decoded decode(std::span<std::byte const> bytes, std::optional<std::size_t> descriptors) {
    Header const header = read_header(bytes);
    Decoded decoded{header.id, {}};
    read_message(header, bytes, decoded.message);
    std::size_t const wanted = descriptors_of(decoded.message);
    if (descriptors.value_or(wanted) == wanted) return decoded;
    throw ProtocolError(fmt::format("{}: descriptors: {} came with it, not {}",
                                    kinds[decoded.message.index()], *descriptors, wanted));
}

}  // namespace carillon::detail
