// SPDX-License-Identifier: Apache-2.0
// Mailboxes and rings of chunks by bytes, and other processes' logs, as Python has them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "bindings.hpp"
#include "busy.hpp"
#include "carillon/bytes.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/host/either_way.hpp"
#include "carillon/device.hpp"
#include "direction.hpp"
#include "elsewhere.hpp"
#include "gil.hpp"
#include "held_bytes.hpp"
#include "py_connection.hpp"
#include "py_door.hpp"
#include "shown.hpp"
#include "views.hpp"
#include "waits.hpp"

namespace carillon::python {
namespace {

using AnyMailbox = detail::ObjectOfBytes<Mailbox>;
struct MailboxEnd {
    std::shared_ptr<AnyMailbox> mailbox;
};
struct MailboxDeviceEnd {
    std::shared_ptr<AnyMailbox> mailbox;  // keeps the memory
    detail::EndOfBytes<Mailbox> end;
};

MailboxEnd* made_mailbox(Device const& device, nb::handle initial, std::string const& direction,
                         std::uint32_t capacity) {
    MailboxOptions options;
    options.capacity = capacity;
    HeldBytes const from(initial, HeldBytes::Use::read);
    auto const make = [&](auto way) { return Mailbox<Bytes, way>(device, from.bytes(), options); };
    return new MailboxEnd{std::make_shared<AnyMailbox>("mailbox", direction_of(direction), make)};
}
MailboxEnd* lent_mailbox(ConnectionEnd const& connection, std::string const& object,
                         std::uint32_t bytes, std::string const& name,
                         std::string const& direction) {
    Direction const way = direction_of(direction);
    BytesType const type{bytes, name};
    return new MailboxEnd{unless_interrupted([to = connection.get(), object, type, way] {
        return std::make_shared<AnyMailbox>("mailbox", way, [&](auto one_way) {
            return to->template mailbox<Bytes, one_way>(object, type);
        });
    })};
}
// None of these waits, so they are made with the GIL: one thread at a time.
void set(MailboxEnd& self, nb::handle value) {
    auto& mailbox = self.mailbox->to_device("reads");
    mailbox.set(HeldBytes(value, HeldBytes::Use::read).bytes(), sent);
}
void set_by_device(MailboxDeviceEnd& self, nb::handle value) {
    auto& end = self.end.to_host("reads");
    end.set(HeldBytes(value, HeldBytes::Use::read).bytes());
}
bool refresh(MailboxEnd& self, nb::handle into) {
    auto& mailbox = self.mailbox->to_host("sets");
    return mailbox.refresh(HeldBytes(into, HeldBytes::Use::write).writable());
}
bool refresh_on_device(MailboxDeviceEnd& self, nb::handle into) {
    auto& end = self.end.to_device("sets");
    return end.refresh(HeldBytes(into, HeldBytes::Use::write).writable());
}

using Chunks = ChunkRing<Bytes>;
struct ChunkRingEnd {
    Chunks ring;
    Busy busy;
};
struct ChunkRingDeviceEnd {
    Chunks ring;  // keeps the memory
    Chunks::DeviceEnd end;
};

// A claimed chunk, until it is committed or given up. Its views end before that: then the chunk is
// the kernel's. An address that was kept without a view still leads into the ring's memory.
struct RawChunk {
    Chunks ring;
    std::optional<Chunk<Bytes>> chunk;
    unsigned views = 0;

    [[nodiscard]] Chunk<Bytes>& get() {
        if (!chunk) throw UsageError("the chunk was committed or given up");
        return *chunk;
    }
    [[nodiscard]] Chunk<Bytes>& without_views() {
        Chunk<Bytes>& open = get();
        if (views != 0) throw UsageError("views of the chunk still exist: delete them first");
        return open;
    }
};

int get_chunk(PyObject* self, Py_buffer* view, int flags) noexcept {
    constexpr char const* call = "Chunk.__buffer__";
    auto const bytes = [](RawChunk& chunk) { return chunk.get().bytes(); };
    return fill_open_view<RawChunk>(self, view, flags, call, bytes) ? 0 : -1;
}
PyType_Slot chunk_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_chunk)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_open_view)},
    {0, nullptr},
};

ChunkRingEnd* made_chunk_ring(Device const& device, std::size_t meta_bytes, std::size_t chunk_bytes,
                              std::uint32_t chunks) {
    ChunkRingOptions options;
    options.chunk_bytes = chunk_bytes;
    options.chunks = chunks;
    OthersRun const others_run;
    return new ChunkRingEnd{Chunks(device, meta_bytes, options), {}};
}
ChunkRingEnd* lent_chunk_ring(ConnectionEnd const& connection, std::string const& object,
                              std::uint32_t meta_bytes, std::string const& name) {
    BytesType const meta{meta_bytes, name};
    auto const ask = [to = connection.get(), object, meta] {
        return to->chunk_ring<Bytes>(object, meta);
    };
    return new ChunkRingEnd{unless_interrupted(ask), {}};
}

RawChunk* try_claim(ChunkRingEnd& self) {  // none: None
    InCall const in(self.busy);
    auto chunk = self.ring.try_claim();
    if (!chunk) return nullptr;
    return new RawChunk{self.ring, std::move(chunk)};
}
RawChunk* claim(ChunkRingEnd& self, double timeout) {
    auto const bound = duration(timeout);
    InCall const in(self.busy);
    std::optional<Chunk<Bytes>> chunk;
    wait_in_parts(bound, [&](auto part) { chunk.emplace(self.ring.claim(part)); });
    return new RawChunk{self.ring, std::move(chunk)};
}

void fill(RawChunk& self, nb::handle data, std::size_t offset) {
    HeldBytes const from(data, HeldBytes::Use::read);
    self.get().fill(offset, from.bytes());
}
// `used`: none means all of it.
void commit(RawChunk& self, std::optional<std::size_t> used, nb::handle meta) {
    HeldBytes const beside(meta, HeldBytes::Use::read);
    Chunk<Bytes>& chunk = self.without_views();
    chunk.commit(used ? *used : chunk.bytes().size(), beside.bytes());
    self.chunk.reset();
}
void drop(RawChunk& self) {
    (void)self.without_views();
    self.chunk.reset();
}

// The bytes of the next chunk, its meta and its number.
std::optional<std::tuple<nb::bytes, nb::bytes, detail::Sequence>> try_take(
    ChunkRingDeviceEnd& self) {
    auto const chunk = self.end.try_take();
    if (!chunk) return {};
    return std::tuple(nb::bytes(chunk->data, chunk->size),
                      nb::bytes(chunk->meta.data(), chunk->meta.size()), chunk->sequence);
}

struct LogEnd {
    LogReader log;
    Busy busy;
};

LogEnd* lent_log(ConnectionEnd const& connection, std::string const& object) {
    return new LogEnd{
        unless_interrupted([to = connection.get(), object] { return to->log(object); }), {}};
}
std::optional<LogRecord> next_record(LogEnd& self, double timeout) {
    detail::Deadline const deadline(duration(timeout));
    InCall const in(self.busy);
    for (;;) {
        auto const left = std::max(deadline.left(), std::chrono::nanoseconds(0));
        std::optional<LogRecord> found;
        {
            OthersRun const others_run;
            found = self.log.next(std::min(left, longest_part));
        }
        if (found || left <= longest_part) return found;
        raise_signals();
    }
}

void bind_mailboxes(nb::module_& module) {
    nb::class_<MailboxDeviceEnd> end(module, "BytesMailboxEnd",
                                     "The device's end of a mailbox, on the emulated device.");
    Doors(end, "MailboxDeviceEnd.")
        .def("set", set_by_device, nb::arg("value"))
        .def("refresh", refresh_on_device, nb::arg("into"));
    nb::class_<MailboxEnd> mailbox(module, "BytesMailbox", "A mailbox whose value is bytes.");
    Doors(mailbox, "Mailbox.")
        .def_new("Mailbox", made_mailbox, nb::arg("device"), nb::arg("initial"),
                 nb::arg("direction"), nb::arg("capacity"))
        .def_static("Connection.mailbox", "_lent", lent_mailbox, nb::arg("connection"),
                    nb::arg("object"), nb::arg("bytes"), nb::arg("name"), nb::arg("direction"),
                    nb::rv_policy::take_ownership)
        .def("set", set, nb::arg("value"))
        .def("refresh", refresh, nb::arg("into"))
        .def("emulated_end", [](MailboxEnd& self) {
            return MailboxDeviceEnd{self.mailbox, self.mailbox->emulated_end()};
        });
}

void bind_chunk_rings(nb::module_& module) {
    nb::class_<ChunkRingDeviceEnd> end(
        module, "BytesChunkEnd", "The device's end of a ring of chunks, on the emulated device.");
    Doors(end, "ChunkRingDeviceEnd.")
        .def("try_take", try_take)
        .def(
            "release",
            [](ChunkRingDeviceEnd& self, detail::Sequence sequence) {
                return self.end.release(sequence);
            },
            nb::arg("sequence"));
    nb::class_<RawChunk> chunk(module, "RawChunk", nb::type_slots(chunk_slots),
                               "A claimed chunk: its bytes are a Python buffer.");
    show(chunk, {"size", "sequence"});
    Doors(chunk, "Chunk.")
        .def("fill", fill, nb::arg("data"), nb::arg("offset"))
        .def("flush", [](RawChunk& self) { self.get().flush(); })
        .def("commit", commit, nb::arg("used").none(), nb::arg("meta"))
        .def_as("commit", "_require_ready", [](RawChunk& self) { (void)self.without_views(); })
        .def("drop", drop)
        .def_prop_ro("size", [](RawChunk& self) { return self.get().bytes().size(); })
        .def_prop_ro("sequence", [](RawChunk& self) { return self.get().sequence(); });
    nb::class_<ChunkRingEnd> ring(module, "BytesChunkRing",
                                  "A ring of chunks with metadata in bytes.");
    Doors(ring, "ChunkRing.")
        .def_new("ChunkRing", made_chunk_ring, nb::arg("device"), nb::arg("meta_bytes"),
                 nb::arg("chunk_bytes"), nb::arg("chunks"))
        .def_static("Connection.chunk_ring", "_lent", lent_chunk_ring, nb::arg("connection"),
                    nb::arg("object"), nb::arg("meta_bytes"), nb::arg("name"),
                    nb::rv_policy::take_ownership)
        .def("try_claim", try_claim, nb::sig("def try_claim(self) -> RawChunk | None"))
        .def("claim", claim, nb::arg("timeout"))
        .def("emulated_end",
             [](ChunkRingEnd& self) {
                 auto const where = detail::CodeLocation::elsewhere();
                 return ChunkRingDeviceEnd{self.ring, self.ring.device_handle(where)};
             })
        .def_prop_ro("chunks", [](ChunkRingEnd const& self) { return self.ring.chunks(); })
        .def_prop_ro("chunk_bytes",
                     [](ChunkRingEnd const& self) { return self.ring.chunk_bytes(); });
}

void bind_log(nb::module_& module) {
    nb::class_<LogRecord> record(module, "LogRecord", "A message of a log.");
    show(record, {"time_ns", "block", "level", "text"});
    record.def_ro("time_ns", &LogRecord::time_ns, "Nanoseconds of the device's clock.")
        .def_ro("block", &LogRecord::block, "The block's number in its launch.")
        .def_prop_ro(
            "level", [](LogRecord const& self) { return std::string(to_string(self.level)); },
            "\"debug\", \"info\", \"warning\" or \"error\".")
        .def_ro("text", &LogRecord::text);
    nb::class_<LogEnd> log(
        module, "LogReader",
        "Reads another process's log in order. Connection.log() makes it. One thread at a time. "
        "The\nwriter never waits for it: messages not read in time are overwritten.");
    show(log, {"missed"});
    Doors(log, "LogReader.")
        .def_static("Connection.log", "_lent", lent_log, nb::arg("connection"), nb::arg("object"),
                    nb::rv_policy::take_ownership)
        .def(
            "next", next_record, nb::arg("timeout") = 0.0,
            "The next message, if it comes within `timeout` seconds, or None.\n\nOnce all messages "
            "are read, raises OwnerGoneError if the owner has ended, and\nStoppedError if it has "
            "destroyed the log.")
        .def_prop_ro(
            "missed", [](LogEnd const& self) { return self.log.missed(); },
            "The number of messages that were overwritten before they were read.");
}

}  // namespace

void bind_objects(nb::module_& module) {
    nb::class_<OpenView>(module, "_OpenView", "The owner that a writable view keeps.");
    bind_mailboxes(module);
    bind_chunk_rings(module);
    bind_log(module);
}

}  // namespace carillon::python
