// SPDX-License-Identifier: Apache-2.0
// Buffers that processes share, as Python has them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bindings.hpp"
#include "busy.hpp"
#include "carillon/store.hpp"
#include "closable.hpp"
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

// A buffer that is written, until it is sealed. Views of it end before that: nobody may write a
// sealed buffer.
struct WrittenBuffer {
    std::optional<Outside<Buffer>> buffer;
    unsigned views = 0;
    bool of_another = false;  // process's store
    char const* why_none = "the buffer is sealed";

    [[nodiscard]] Buffer& get() {
        if (!buffer) throw UsageError(why_none);
        return **buffer;
    }
};
// A buffer that can be read.
using SealedBufferEnd = Outside<Buffer>;

// Counts like a view: another thread that seals the buffer meanwhile is refused.
class BeingWritten {
   public:
    explicit BeingWritten(WrittenBuffer& buffer) : buffer_(buffer) { ++buffer_.views; }
    ~BeingWritten() { --buffer_.views; }
    BeingWritten(BeingWritten const&) = delete;
    BeingWritten& operator=(BeingWritten const&) = delete;

   private:
    WrittenBuffer& buffer_;
};

int get_written(PyObject* self, Py_buffer* view, int flags) noexcept {
    constexpr char const* call = "MutableBuffer.__buffer__";
    auto const bytes = [](WrittenBuffer& buffer) { return buffer.get().mutable_data(); };
    return fill_open_view<WrittenBuffer>(self, view, flags, call, bytes) ? 0 : -1;
}
// A sealed buffer stays as long as somebody has it: a view has this object.
int get_sealed(PyObject* self, Py_buffer* view, int flags) noexcept {
    auto const bytes = [&] {
        return std::pair(nb::handle(self), (*nb::inst_ptr<SealedBufferEnd>(self))->data());
    };
    constexpr char const* call = "Buffer.__buffer__";
    return fill_view(self, view, flags, ViewAccess::read_only, call, bytes) ? 0 : -1;
}
PyType_Slot written_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_written)},
    {Py_bf_releasebuffer, reinterpret_cast<void*>(release_open_view)},
    {0, nullptr},
};
PyType_Slot sealed_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(get_sealed)},
    {0, nullptr},
};

SealedBufferEnd seal(WrittenBuffer& self) {
    Buffer& buffer = self.get();
    if (self.views != 0) {
        throw UsageError(
            "views of the buffer still exist, or another thread writes it: delete the views first");
    }
    // No other thread finds it meanwhile.
    auto taken = std::make_shared<Buffer>(std::move(buffer));
    self.buffer.reset();
    try {
        if (self.of_another) return unless_interrupted([taken] { return taken->seal(); });
        OthersRun const others_run;
        return taken->seal();
    } catch (nb::python_error const&) {
        self.why_none = "its seal() was interrupted: the buffer may be sealed or gone";
        OthersRun const others_run;
        taken.reset();
        throw;
    } catch (...) {  // it can still be written
        self.buffer.emplace(std::move(*taken));
        throw;
    }
}

void write(WrittenBuffer& self, nb::handle data, std::size_t offset) {
    HeldBytes const from(data, HeldBytes::Use::read);
    Buffer& buffer = self.get();
    BeingWritten const not_sealed(self);
    OthersRun const others_run;
    buffer.write(from.bytes(), offset);
}
void read(SealedBufferEnd const& self, nb::handle out, std::size_t offset) {
    HeldBytes const to(out, HeldBytes::Use::write);
    OthersRun const others_run;
    self->read(to.writable(), offset);
}

// A store of this process, or another's.
struct StoreEnd : Closable<Store> {
    StoreEnd(Store&& store, bool is_another)
        : Closable("the store", std::move(store)), of_another(is_another) {}
    bool of_another;  // process's: its calls wait for that
};

// Returns what `ask` returns for the store that `self` is.
template <class Ask>
auto asked(StoreEnd const& self, Ask const& ask) {
    auto const store = self.get();
    if (self.of_another) return unless_interrupted([store, ask] { return ask(*store); });
    OthersRun const others_run;
    return ask(*store);
}

WrittenBuffer* create(StoreEnd const& self, std::size_t bytes, std::string const& name) {
    auto made = std::make_unique<WrittenBuffer>();
    made->of_another = self.of_another;
    made->buffer.emplace(
        asked(self, [bytes, name](Store const& store) { return store.create(name, bytes); }));
    return made.release();
}
template <class Key>
SealedBufferEnd get(StoreEnd const& self, Key const& key) {
    return asked(self, [key](Store const& store) { return store.get(key); });
}
template <class Key>
void remove(StoreEnd const& self, Key const& key) {
    asked(self, [key](Store const& store) { store.remove(key); });
}
// The number of a key that is neither a number nor a name of Python's own: NumPy's number, or no
// key.
std::uint64_t number_of_key(nb::handle id, nb::handle name) {
    char const* const given = name.is_none() ? "id" : "name";
    auto const at = [given] { return Argument{given}; };
    if (name.is_none() && PyLong_Check(id.ptr()) == 0 && PyIndex_Check(id.ptr()) != 0) {
        return number_of<std::uint64_t>(id, at);
    }
    at().refuse_type(name.is_none() ? id : name, "a buffer's number or name");
}
SealedBufferEnd get_other(StoreEnd const& self, nb::handle id, nb::handle name) {
    return get(self, number_of_key(id, name));
}
void remove_other(StoreEnd const& self, nb::handle id, nb::handle name) {
    remove(self, number_of_key(id, name));
}
std::vector<BufferInfo> list(StoreEnd const& self) {
    return asked(self, [](Store const& store) { return store.list(); });
}
// A source that tells of sealed buffers, or brings them. One thread at a time asks.
template <class Source>
struct SealedEnd {
    Outside<Source> source;
    Busy busy;
};
using EventsEnd = SealedEnd<SealedEvents>;
using BuffersEnd = SealedEnd<SealedBuffers>;

EventsEnd* sealed_events(StoreEnd const& self) {
    return new EventsEnd{asked(self, [](Store const& store) { return store.sealed_events(); }), {}};
}
BuffersEnd* sealed_buffers(StoreEnd const& self) {
    return new BuffersEnd{asked(self, [](Store const& store) { return store.sealed_buffers(); }),
                          {}};
}

// The next event until `timeout` is over, or none.
template <class End>
auto next_of(End& self, double timeout) {
    detail::Deadline const deadline(duration(timeout));
    InCall const in(self.busy);
    for (;;) {
        auto const left = deadline.left();
        decltype(self.source->next(left)) found;
        {
            OthersRun const others_run;
            found = self.source->next(std::min(left, longest_part));
        }
        if (found || left <= longest_part) return found;
        raise_signals();
    }
}
std::optional<SealedBuffer> next_event(EventsEnd& self, double timeout) {
    return next_of(self, timeout);
}
std::optional<SealedBufferEnd> next_buffer(BuffersEnd& self, double timeout) {
    auto found = next_of(self, timeout);
    if (!found) return {};
    return SealedBufferEnd(std::move(*found));
}

void open_store(StoreEnd* self, Device const& device, std::size_t bytes, unsigned buffers,
                unsigned copy_threads) {
    StoreOptions options;
    options.copy_threads = copy_threads;
    options.bytes = bytes;
    options.buffers = buffers;
    new (self) StoreEnd(Store(device, options), false);
}
Closable<Server>* serve_store(StoreEnd const& self, std::filesystem::path const& path,
                              std::string const& name, unsigned mode) {
    ServeOptions options;
    options.name = name;
    options.mode = mode;
    return new Closable<Server>("the server", self.get()->serve(path, options));
}
StoreEnd* connect_to_store(std::filesystem::path const& path, std::string const& name,
                           double timeout, bool host_memory, unsigned copy_threads,
                           double wait_for_owner, std::optional<std::uint32_t> owner_user) {
    ConnectOptions options;
    options.copy_threads = copy_threads;
    options.name = name;
    options.timeout = duration(timeout);
    options.wait_for_owner = duration(wait_for_owner);
    options.owner_user = owner_user;
    options.host_memory = host_memory;
    return new StoreEnd(unless_interrupted([path, options] { return Store(path, options); }), true);
}
StoreEnd* store_of(ConnectionEnd const& connection) {
    return new StoreEnd(unless_interrupted([to = connection.get()] { return to->store(); }), true);
}

void bind_buffers(nb::module_& module) {
    nb::class_<BufferInfo> info(module, "BufferInfo", "An entry in a list of buffers.");
    show(info, {"id", "name", "size", "memory", "sealed", "holders", "process", "user"});
    info.def_ro("id", &BufferInfo::id, "The number, unique in its store; from 1.")
        .def_ro("name", &BufferInfo::name, "Empty for a buffer without a name.")
        .def_ro("size", &BufferInfo::size, "Bytes.")
        .def_ro("memory", &BufferInfo::memory, "Bytes of device memory that the buffer takes.")
        .def_ro("sealed", &BufferInfo::sealed)
        .def_ro("holders", &BufferInfo::holders,
                "The number of objects that hold it, in all processes.")
        .def_ro("process", &BufferInfo::process,
                "The process that made it; 0 in another namespace.")
        .def_ro("user", &BufferInfo::user, "The user that made it.");
    nb::class_<SealedBuffer> sealed(module, "SealedBuffer", "The event of a sealed buffer.");
    show(sealed, {"id", "name", "size", "missed"});
    sealed.def_ro("id", &SealedBuffer::id)
        .def_ro("name", &SealedBuffer::name)
        .def_ro("size", &SealedBuffer::size, "Bytes.")
        .def_ro("missed", &SealedBuffer::missed,
                "The number of buffers without an event since the last event.");
    nb::class_<EventsEnd> events(module, "SealedEvents",
                                 "Reports every sealed buffer. Store.sealed_events() makes it. One "
                                 "thread at a time.");
    show(events, {});
    Doors(events, "SealedEvents.")
        .def(
            "fileno", [](EventsEnd const& self) { return self.source->descriptor(); },
            "For select and asyncio: readable when next() has an event, or the store has ended.")
        .def("next", next_event, nb::arg("timeout") = 0.0,
             "The next event if it comes within `timeout` seconds, or None. Raises OwnerGoneError "
             "once\nthe store has ended.");
    nb::class_<BuffersEnd> buffers(module, "SealedBuffers",
                                   "Gets every sealed buffer. Store.sealed_buffers() makes it. One "
                                   "thread at a time.");
    show(buffers, {"missed"});
    Doors(buffers, "SealedBuffers.")
        .def(
            "fileno", [](BuffersEnd const& self) { return self.source->descriptor(); },
            "For select and asyncio: readable when next() has a buffer, or released buffers to "
            "handle;\nit then returns None.")
        .def("next", next_buffer, nb::arg("timeout") = 0.0,
             "The next Buffer, as get() returns it, if it comes within `timeout` seconds, or "
             "None.\nRaises OwnerGoneError once the store has ended, and as get().")
        .def_prop_ro(
            "missed", [](BuffersEnd const& self) { return self.source->missed(); },
            "The number of skipped buffers: removed before next() got them, not mappable, or too "
            "many\nat once.");
}

void bind_buffer_ends(nb::module_& module) {
    nb::class_<SealedBufferEnd> sealed(module, "Buffer", nb::type_slots(sealed_slots),
                                       "A sealed buffer: its bytes are a read-only Python buffer, "
                                       "for\nnumpy.asarray(buffer). Views keep it.");
    show(sealed, {"id", "name", "size"});
    Doors(sealed, "Buffer.")
        .def_prop_ro("id", [](SealedBufferEnd const& self) { return self->id(); })
        .def_prop_ro("name", [](SealedBufferEnd const& self) { return self->name(); })
        .def_prop_ro(
            "size", [](SealedBufferEnd const& self) { return self->size(); }, "Bytes.")
        .def("__len__", [](SealedBufferEnd const& self) { return self->size(); })
        .def_prop_ro(
            "is_cpu", [](SealedBufferEnd const& self) { return self->is_cpu(); },
            "Whether it is in host memory.")
        .def_prop_ro(
            "device_ptr",
            [](SealedBufferEnd const& self) {
                return reinterpret_cast<std::uintptr_t>(self->device_ptr());
            },
            "The address for kernels of this process. Raises UnsupportedError if they have "
            "none: for a\nGPU's buffer of another process's store.")
        .def("read", read, nb::arg("out"), nb::arg("offset") = 0,
             "Fills `out`, a writable buffer, from byte `offset` on. Raises UsageError for a range "
             "outside\nthe buffer.");
    nb::class_<WrittenBuffer> written(
        module, "MutableBuffer", nb::type_slots(written_slots),
        "A buffer that its maker writes, by views or write(), until seal(). One thread at a time.");
    show(written, {"id", "name", "size"});
    Doors(written, "MutableBuffer.")
        .def_prop_ro("id", [](WrittenBuffer& self) { return self.get().id(); })
        .def_prop_ro("name", [](WrittenBuffer& self) { return self.get().name(); })
        .def_prop_ro("size", [](WrittenBuffer& self) { return self.get().size(); })
        .def("__len__", [](WrittenBuffer& self) { return self.get().size(); })
        .def(
            "write", write, nb::arg("data"), nb::arg("offset") = 0,
            "Copies the bytes of `data` to byte `offset` on. Raises UsageError for a range outside "
            "the\nbuffer, and for a sealed buffer.")
        .def("seal", seal,
             "Ends writing, so that others may get the buffer. Raises UsageError while views of "
             "it\nlive and for a sealed buffer, RefusedError, OwnerGoneError, TimeoutError.");
}

}  // namespace

void bind_store(nb::module_& module) {
    bind_buffers(module);
    bind_buffer_ends(module);
    nb::class_<StoreEnd> store(module, "Store", "Buffers in a device's memory.");
    show(store, {});
    close_with(store, "Store");
    Doors(store, "Store.")
        .def_init(
            "Store", open_store, nb::arg("device"), nb::kw_only(),
            nb::arg("bytes") = std::size_t{1} << 30U, nb::arg("buffers") = 4096U,
            nb::arg("copy_threads") = 4U,
            "Makes a store in the memory of `device`, with room for `buffers` buffers of "
            "`bytes` bytes in\ntotal. Up to `copy_threads` threads copy a buffer of 128 KiB or "
            "more to and from GPU memory.\nAny thread may use it. Raises UsageError for "
            "options that allow no buffer.")
        .def_static(
            "connect_store", "_connect", connect_to_store, nb::arg("path"), nb::kw_only(),
            nb::arg("name") = "", nb::arg("timeout") = 5.0, nb::arg("host_memory") = false,
            nb::arg("copy_threads") = 4U, nb::arg("wait_for_owner") = 0.0,
            nb::arg("owner_user").none() = nb::none(),
            "The store that another process serves at `path`. `host_memory`: make buffers in "
            "host\nmemory. `copy_threads` is as in Store(), the other options are as in "
            "connect(). Raises\nSystemError if no process listens at `path`, RefusedError, "
            "UsageError, TimeoutError.")
        .def_static("Connection.store", "_of", store_of, nb::arg("connection"))
        .def("serve", serve_store, nb::arg("path"), nb::kw_only(), nb::arg("name") = "store",
             nb::arg("mode") = 0600U,
             "Serves the store to other processes at `path`, a Unix socket with the permissions "
             "`mode`.\n`name`: the owner's name. Raises UsageError for another process's store and "
             "if a process\nlistens at the path, SystemError.")
        .def(
            "create", create, nb::arg("bytes"), nb::arg("name") = "",
            "A new buffer of `bytes` bytes, to be written and sealed. `name`: up to 63 characters; "
            "empty:\nno name. Raises UsageError, OutOfMemoryError, RefusedError if the name is "
            "taken or there\nis no room.")
        .def_overload(
            "get", get<std::uint64_t>, nb::arg("id"),
            nb::sig("def get(self, id: typing.SupportsIndex) -> Buffer"),
            "A sealed buffer, by number or name. Raises RefusedError if there is none, or "
            "it is not\nsealed yet.")
        .def_overload("get", get<std::string>, nb::arg("name"))
        .def_last_overload("get", get_other, nb::arg("id") = nb::none(),
                           nb::arg("name") = nb::none())
        .def_overload("remove", remove<std::uint64_t>, nb::arg("id"),
                      nb::sig("def remove(self, id: typing.SupportsIndex) -> None"),
                      "Removes the buffer; its memory stays while a process holds it.")
        .def_overload("remove", remove<std::string>, nb::arg("name"))
        .def_last_overload("remove", remove_other, nb::arg("id") = nb::none(),
                           nb::arg("name") = nb::none())
        .def("list", list, "All buffers, by number, except removed ones.")
        .def("sealed_events", sealed_events, "Reports every buffer that is sealed from now on.")
        .def("sealed_buffers", sealed_buffers, "Gets every buffer that is sealed from now on.")
        .def(
            "close", [](StoreEnd& self) { self.close(); }, "Ends the store; buffers in use stay.");
}

}  // namespace carillon::python
