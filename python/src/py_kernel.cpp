// SPDX-License-Identifier: Apache-2.0
#include "py_kernel.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cstring>
#include <exception>
#include <filesystem>
#include <string>
#include <thread>

#include "carillon/detail/host/deadline.hpp"
#include "closable.hpp"
#include "gil.hpp"
#include "py_door.hpp"
#include "shown.hpp"
#include "waits.hpp"

namespace carillon::python {
namespace {

// Whether Python still calls handlers: not once it ends. The gate closes with the GIL, when no
// thread is on its way to that.
struct Gate {
    std::atomic<bool> closed = false;
    std::atomic<unsigned> coming = 0;
    std::atomic<unsigned> inside = 0;
};
Gate gate;

// Returns UTF-8, or nothing if Python raises an error for that, which it clears.
std::string text_of(PyObject* object) {
    std::string text;
    PyObject* const shown = object == nullptr ? nullptr : PyObject_Str(object);
    PyObject* const bytes =
        shown == nullptr ? nullptr : PyUnicode_AsEncodedString(shown, "utf-8", "backslashreplace");
    char const* const chars = bytes == nullptr ? nullptr : PyBytes_AsString(bytes);
    if (chars != nullptr) text.assign(chars, static_cast<std::size_t>(PyBytes_Size(bytes)));
    Py_XDECREF(bytes);
    Py_XDECREF(shown);
    PyErr_Clear();
    return text;
}

// Takes what Python has raised, with its traceback. Python has no error then. A new reference.
PyObject* raised() {
#if PY_VERSION_HEX >= 0x030c0000
    return PyErr_GetRaisedException();
#else
    PyObject* type = nullptr;
    PyObject* value = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &value, &trace);
    PyErr_NormalizeException(&type, &value, &trace);
    if (trace != nullptr) PyException_SetTraceback(value, trace);
    Py_XDECREF(type);
    Py_XDECREF(trace);
    return value;
#endif
}

// "ValueError: the text", as the last line of a traceback.
std::string described(PyObject* error) {
    PyObject* const name = PyObject_GetAttrString((PyObject*)Py_TYPE(error), "__name__");
    std::string text = text_of(name) + ": " + text_of(error);
    Py_XDECREF(name);
    PyErr_Clear();
    return text;
}

// Makes an error of what Python has raised, which is its __cause__.
std::exception_ptr handler_raised(Handler& handler) {
    auto const kept = std::make_shared<KeptException const>(raised());
    if (!handler.raised) handler.raised = kept;
    return handler_raised(described(kept->get()), kept);
}

// Puts what the handler returned into `reply`. Returns what is wrong with it.
std::exception_ptr copy_reply(PyObject* said, Handler const& handler, void* reply) {
    Py_buffer view;
    if (PyObject_GetBuffer(said, &view, PyBUF_C_CONTIGUOUS) != 0) return {};
    auto const size = static_cast<std::size_t>(view.len);
    bool const fits = size == handler.reply_bytes;
    if (fits) std::memcpy(reply, view.buf, size);
    PyBuffer_Release(&view);
    if (fits) return {};
    return std::make_exception_ptr(UsageError(
        "PersistentKernel", "the handler returned " + std::to_string(size) +
                                " bytes, but a reply has " + std::to_string(handler.reply_bytes)));
}

// Call it with the GIL. Returns what went wrong; Python has no error then.
std::exception_ptr answer(Handler& handler, void const* request, void* reply) {
    PyObject* const asked = PyBytes_FromStringAndSize(
        static_cast<char const*>(request), static_cast<Py_ssize_t>(handler.request_bytes));
    PyObject* const said = asked == nullptr
                               ? nullptr
                               : PyObject_CallFunctionObjArgs(handler.call.ptr(), asked, nullptr);
    Py_XDECREF(asked);
    std::exception_ptr failure;
    if (said != nullptr) failure = copy_reply(said, handler, reply);
    if (PyErr_Occurred() != nullptr) {
        failure = handler_raised(handler);
    }
    Py_XDECREF(said);
    return failure;
}

std::exception_ptr python_ends() {
    return std::make_exception_ptr(StoppedError(
        "PersistentKernel", "the Python interpreter is ending and calls no more handlers"));
}

// Python may end the thread in any of its calls: no destructor here releases an object of Python's.
std::exception_ptr answer_with_gil(Handler& handler, void const* request, void* reply) {
    ++gate.coming;
    if (gate.closed) {
        --gate.coming;
        return python_ends();
    }
    ++handler.inside;
    ++gate.inside;
    PyGILState_STATE const held = PyGILState_Ensure();
    --gate.coming;
    std::exception_ptr failure;
    try {
        failure = gate.closed ? python_ends() : answer(handler, request, reply);
    } catch (std::exception const&) {  // no memory left
        failure = std::current_exception();
    }
    PyGILState_Release(held);
    --gate.inside;
    --handler.inside;
    return failure;
}

// A block's thread calls it. If Python raises something, the kernel ends, as it does when a handler
// in C++ throws.
void serve_by(void* user, void const* request, void* reply) {
    auto& handler = *static_cast<Handler*>(user);
    auto const failure = or_stay([&] { return answer_with_gil(handler, request, reply); });
    if (failure) std::rethrow_exception(failure);
}

// Python ends: no handler is called any more, but those that run go on.
void close_gate() {
    gate.closed = true;
    detail::Deadline const deadline(std::chrono::seconds(1));
    OthersRun const others_run;
    while (gate.coming != 0 && !deadline.passed()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    if (gate.inside != 0) nb::set_leak_warnings(false);  // objects of those handlers stay
}

KernelEnd* made_kernel(Device const& device, nb::object handler, std::uint32_t request_bytes,
                       std::uint32_t reply_bytes, std::string const& request_name,
                       std::string const& reply_name, unsigned blocks, std::uint32_t capacity,
                       bool shared) {
    KernelOptions options;
    options.blocks = blocks;
    options.capacity = capacity;
    return new KernelEnd(device, {request_bytes, request_name}, {reply_bytes, reply_name},
                         std::move(handler), options,
                         shared ? BytesClients::of_others : BytesClients::of_this_process);
}

KernelEnd* made_text_kernel(Device const& device, CompiledHandler const& handler, unsigned blocks,
                            std::uint32_t capacity, bool shared) {
    KernelOptions options;
    options.blocks = blocks;
    options.capacity = capacity;
    return new KernelEnd(device, handler, options,
                         shared ? BytesClients::of_others : BytesClients::of_this_process);
}

int traverse(PyObject* self, visitproc visit, void* arg) noexcept {
    Py_VISIT(Py_TYPE(self));
    if (!nb::inst_ready(self)) return 0;
    Handler const* const handler = nb::inst_ptr<KernelEnd>(self)->handler();
    if (handler == nullptr) return 0;
    Py_VISIT(handler->call.ptr());
    if (handler->raised) Py_VISIT(handler->raised->get());
    return 0;
}
int clear(PyObject* self) noexcept {
    if (nb::inst_ready(self)) nb::inst_ptr<KernelEnd>(self)->close();
    return 0;
}
// This comes before the collector clears any part: until the kernel has ended, a block may call the
// handler, whose parts have to be there.
void finalize(PyObject* self) noexcept {
    PyObject* type = nullptr;
    PyObject* error = nullptr;
    PyObject* trace = nullptr;
    PyErr_Fetch(&type, &error, &trace);
    (void)clear(self);
    PyErr_Restore(type, error, trace);
}
PyType_Slot kernels_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {Py_tp_finalize, reinterpret_cast<void*>(finalize)},
    {0, nullptr},
};

void stop(KernelEnd& self, double timeout) {
    auto const bound = duration(timeout);
    BytesKernel& kernel = self.kernel();
    wait_in_parts(bound, [&](auto part) { kernel.stop(part); });
}
void drain(KernelEnd& self, double timeout) {
    auto const bound = duration(timeout);
    BytesKernel& kernel = self.kernel();
    wait_in_parts(bound, [&](auto part) { kernel.drain(part); });
}

ServeOptions serve_options(std::string const& name, unsigned mode,
                           std::vector<std::uint32_t> const& users,
                           std::vector<std::uint32_t> const& groups) {
    ServeOptions options;
    options.name = name;
    options.mode = mode;
    options.users = users;
    options.groups = groups;
    return options;
}

using ServerEnd = Closable<Server>;

void open_server(ServerEnd* self, std::filesystem::path const& path, std::string const& name,
                 unsigned mode, std::vector<std::uint32_t> const& users,
                 std::vector<std::uint32_t> const& groups) {
    auto const options = serve_options(name, mode, users, groups);
    OthersRun const others_run;
    new (self) ServerEnd("the server", path.empty() ? Server(options) : Server(path, options));
}

ServerEnd* serve(KernelEnd& self, std::filesystem::path const& path, std::string const& name,
                 unsigned mode, std::vector<std::uint32_t> const& users,
                 std::vector<std::uint32_t> const& groups) {
    auto const options = serve_options(name, mode, users, groups);
    return new ServerEnd("the server", self.kernel().serve(path, options, name));
}
void add_to(KernelEnd& self, ServerEnd& server, std::string const& name) {
    self.kernel().serve(*server.get(), name);
}

// The bytes of the path as Python has them.
nb::str path_of(ServerEnd const& self) {
    std::string const path = self.get()->path().string();
    return nb::steal<nb::str>(
        PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size())));
}

void bind_server(nb::module_& module) {
    nb::class_<ServerEnd> server(module, "Server", "Serves kernels to clients in other processes.");
    show(server, {"path"});
    close_with(server, "Server");
    Doors(server, "Server.")
        .def_init(
            "Server", open_server, nb::arg("path") = "", nb::kw_only(), nb::arg("name") = "kernel",
            nb::arg("mode") = 0600, nb::arg("users") = std::vector<std::uint32_t>(),
            nb::arg("groups") = std::vector<std::uint32_t>(),
            "Listens at `path`, a Unix socket with the permissions `mode`. Without `path` the "
            "server\nlistens from open() on, so that clients find all objects added "
            "before.\n\n`name`: the owner's name, 1 to 63 characters. `users`, `groups`: the "
            "numbers of the users,\nand of the groups whose members, may be clients besides "
            "the owner's user; by default\nevery process that can connect.\n\nRaises "
            "UsageError if another process listens at the path, SystemError.")
        .def(
            "open",
            [](ServerEnd& self, std::filesystem::path const& path) { self.get()->open(path); },
            nb::arg("path"),
            "Begins to listen. Raises as the constructor, UsageError the second time.")
        .def_prop_ro("path", path_of, "The socket's path; empty before open().")
        .def("close", &ServerEnd::close, "Stops serving: clients get OwnerGoneError.");
}

}  // namespace

KernelEnd::KernelEnd(Device const& device, BytesType const& request, BytesType const& reply,
                     nb::object handler, KernelOptions const& options, BytesClients clients)
    : handler_(new Handler{std::move(handler), request.bytes, reply.bytes}) {
    if (!PyCallable_Check(handler_->call.ptr())) {
        Argument{"handler"}.refuse_type(handler_->call, "a callable");
    }
    OthersRun const others_run;
    kernel_.emplace(device, request, reply, serve_by, handler_.get(), options, clients);
    clients_.resize(clients == BytesClients::of_others ? 0 : kernel_->blocks());
}

KernelEnd::KernelEnd(Device const& device, CompiledHandler const& handler,
                     KernelOptions const& options, BytesClients clients) {
    OthersRun const others_run;
    kernel_.emplace(device, handler, options, clients);
    clients_.resize(clients == BytesClients::of_others ? 0 : kernel_->blocks());
}

KernelEnd::~KernelEnd() { close(); }

void KernelEnd::close() {
    for (auto const& each : clients_) {
        if (each) each->close();
    }
    // A handler that did not return when Python began to end will not return later.
    if (kernel_ && handler_ && handler_->inside != 0 && gate.closed) {
        (void)new BytesKernel(std::move(*kernel_));
    }
    {
        OthersRun const others_run;
        kernel_.reset();
    }
    if (handler_ && handler_->inside != 0) (void)handler_.release();
    handler_.reset();
}

BytesKernel& KernelEnd::kernel() {
    if (!kernel_) throw UsageError("the kernel was closed");
    return *kernel_;
}

ClientEnd KernelEnd::client(unsigned block) {
    BytesClient& client = kernel().client(block);
    auto& state = clients_.at(block);
    if (!state) state = std::make_shared<ClientState>(client);
    return ClientEnd(state);
}

void bind_kernel(nb::module_& module) {
    bind_server(module);
    nb::class_<KernelEnd> kernel(module, "BytesKernel", nb::type_slots(kernels_slots),
                                 nb::is_weak_referenceable(), "A kernel whose messages are bytes.");
    Doors(kernel, "PersistentKernel.")
        .def_static("PersistentKernel", "_of_text", made_text_kernel, nb::arg("device"),
                    nb::arg("handler"), nb::arg("blocks"), nb::arg("capacity"), nb::arg("shared"),
                    nb::rv_policy::take_ownership)
        .def_new("PersistentKernel", made_kernel, nb::arg("device"), nb::arg("handler"),
                 nb::arg("request_bytes"), nb::arg("reply_bytes"), nb::arg("request_name"),
                 nb::arg("reply_name"), nb::arg("blocks"), nb::arg("capacity"), nb::arg("shared"))
        .def("client", &KernelEnd::client, nb::arg("block"), "The client keeps this kernel alive.")
        .def("serve", serve, nb::arg("path"), nb::arg("name"), nb::arg("mode"), nb::arg("users"),
             nb::arg("groups"), nb::rv_policy::take_ownership)
        .def("add_to", add_to, nb::arg("server"), nb::arg("name"))
        .def("stop", stop, nb::arg("timeout"))
        .def("drain", drain, nb::arg("timeout"))
        .def_prop_ro("blocks", [](KernelEnd& self) { return self.kernel().blocks(); })
        .def_prop_ro("state",
                     [](KernelEnd& self) { return std::string(to_string(self.kernel().state())); })
        .def_prop_ro("running", [](KernelEnd& self) { return self.kernel().running(); });
    module.def("_close_handlers", close_gate);
}

}  // namespace carillon::python
