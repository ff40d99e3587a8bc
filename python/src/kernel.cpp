// SPDX-License-Identifier: Apache-2.0
#include "kernel.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstring>
#include <string>

#include "closable.hpp"
#include "waits.hpp"

namespace carillon::python {
namespace {

// "ValueError: the text", as the last line of a traceback.
std::string described(nb::python_error const& error) {
    return nb::cast<std::string>(error.type().attr("__name__")) + ": " +
           nb::cast<std::string>(nb::str(error.value()));
}

void answer(Handler const& handler, void const* request, void* reply) {
    nb::object const said = handler.call(nb::bytes(request, handler.request_bytes));
    HeldBytes const bytes(said, HeldBytes::Use::read);
    if (bytes.bytes().size() != handler.reply_bytes) {
        throw UsageError("PersistentKernel",
                         "the handler returned " + std::to_string(bytes.bytes().size()) +
                             " bytes; a reply has " + std::to_string(handler.reply_bytes));
    }
    std::memcpy(reply, bytes.bytes().data(), handler.reply_bytes);
}

struct Inside {
    explicit Inside(Handler& entered) : handler(entered) { ++handler.inside; }
    ~Inside() { --handler.inside; }
    Inside(Inside const&) = delete;
    Inside& operator=(Inside const&) = delete;

    Handler& handler;
};

// In a block's thread. What Python raises ends the kernel, as what a handler in C++ throws does.
void serve_by(void* user, void const* request, void* reply) {
    Inside const inside(*static_cast<Handler*>(user));
    nb::gil_scoped_acquire const held;
    try {
        answer(inside.handler, request, reply);
    } catch (nb::python_error const& error) {
        throw Error("PersistentKernel", "the handler raised " + described(error));
    }
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
    Py_VISIT(nb::inst_ptr<KernelEnd>(self)->handler());
    return 0;
}
int clear(PyObject* self) noexcept {
    if (nb::inst_ready(self)) nb::inst_ptr<KernelEnd>(self)->close();
    return 0;
}
PyType_Slot collected_slots[] = {
    {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
    {Py_tp_clear, reinterpret_cast<void*>(clear)},
    {0, nullptr},
};

void stop(KernelEnd& self, double timeout) {
    auto const bound = duration("PersistentKernel::stop", timeout);
    BytesKernel& kernel = self.kernel("PersistentKernel::stop");
    wait_in_parts(bound, [&](auto part) { kernel.stop(part); });
}
void drain(KernelEnd& self, double timeout) {
    auto const bound = duration("PersistentKernel::drain", timeout);
    BytesKernel& kernel = self.kernel("PersistentKernel::drain");
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

void open_server(ServerEnd* self, std::string const& path, std::string const& name, unsigned mode,
                 std::vector<std::uint32_t> const& users,
                 std::vector<std::uint32_t> const& groups) {
    auto const options = serve_options(name, mode, users, groups);
    nb::gil_scoped_release const others_run;
    new (self) ServerEnd("the server", Server(path, options));
}

void bind_server(nb::module_& module) {
    nb::class_<ServerEnd> server(module, "Server",
                                 "Lets clients of other processes in to kernels.");
    close_with(server, "Server");
    server
        .def("__init__", open_server, nb::arg("path"), nb::kw_only(), nb::arg("name") = "kernel",
             nb::arg("mode") = 0600, nb::arg("users") = std::vector<std::uint32_t>(),
             nb::arg("groups") = std::vector<std::uint32_t>(),
             "Listens at `path`, a Unix socket with the permissions `mode`.\n\n"
             "Raises UsageError for a path at which somebody listens, SystemError.")
        .def("_add",
             [](ServerEnd& self, std::string const& name, KernelEnd& kernel) {
                 kernel.kernel("Server::add").serve(*self.get("Server::add"), name);
             })
        .def_prop_ro("path",
                     [](ServerEnd& self) { return self.get("Server::path")->path().string(); })
        .def("close", &ServerEnd::close, "Clients find that their owner has gone.");
}

}  // namespace

KernelEnd::KernelEnd(Device const& device, BytesType const& request, BytesType const& reply,
                     nb::object handler, KernelOptions const& options, BytesClients clients)
    : handler_(new Handler{std::move(handler), request.bytes, reply.bytes}) {
    if (!PyCallable_Check(handler_->call.ptr())) {
        throw UsageError("PersistentKernel", "the handler cannot be called");
    }
    nb::gil_scoped_release const others_run;
    kernel_.emplace(device, request, reply, serve_by, handler_.get(), options, clients);
    clients_.resize(clients == BytesClients::of_others ? 0 : kernel_->blocks());
}

KernelEnd::KernelEnd(Device const& device, CompiledHandler const& handler,
                     KernelOptions const& options, BytesClients clients) {
    nb::gil_scoped_release const others_run;
    kernel_.emplace(device, handler, options, clients);
    clients_.resize(clients == BytesClients::of_others ? 0 : kernel_->blocks());
}

KernelEnd::~KernelEnd() { close(); }

void KernelEnd::close() {
    for (auto const& each : clients_) {
        if (each) each->close();
    }
    {
        nb::gil_scoped_release const others_run;
        kernel_.reset();
    }
    if (handler_ && handler_->inside != 0) (void)handler_.release();
    handler_.reset();
}

BytesKernel& KernelEnd::kernel(char const* call) {
    if (!kernel_) throw UsageError(call, "the kernel was closed");
    return *kernel_;
}

ClientEnd KernelEnd::client(unsigned block) {
    BytesClient& client = kernel("PersistentKernel::client").client(block);
    auto& state = clients_.at(block);
    if (!state) state = std::make_shared<ClientState>(client);
    return ClientEnd(state);
}

void bind_kernel(nb::module_& module) {
    nb::class_<KernelEnd>(module, "BytesKernel", nb::type_slots(collected_slots),
                          "A kernel whose messages are bytes.")
        .def(nb::new_(&made_text_kernel), nb::arg("device"), nb::arg("handler"), nb::arg("blocks"),
             nb::arg("capacity"), nb::arg("shared"))
        .def(nb::new_(&made_kernel), nb::arg("device"), nb::arg("handler"),
             nb::arg("request_bytes"), nb::arg("reply_bytes"), nb::arg("request_name"),
             nb::arg("reply_name"), nb::arg("blocks"), nb::arg("capacity"), nb::arg("shared"))
        .def("client", &KernelEnd::client, nb::arg("block"), "Whoever has it keeps this kernel.")
        .def("stop", stop, nb::arg("timeout"))
        .def("drain", drain, nb::arg("timeout"))
        .def_prop_ro(
            "blocks",
            [](KernelEnd& self) { return self.kernel("PersistentKernel::blocks").blocks(); })
        .def_prop_ro(
            "state",
            [](KernelEnd& self) {
                return std::string(to_string(self.kernel("PersistentKernel::state").state()));
            })
        .def_prop_ro("running", [](KernelEnd& self) {
            return self.kernel("PersistentKernel::running").running();
        });
    bind_server(module);
}

}  // namespace carillon::python
