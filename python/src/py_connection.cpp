// SPDX-License-Identifier: Apache-2.0
#include "py_connection.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>

#include "elsewhere.hpp"
#include "py_client.hpp"
#include "py_door.hpp"
#include "shown.hpp"
#include "waits.hpp"

namespace carillon::python {
namespace {

void connect_to(ConnectionEnd* self, std::filesystem::path const& path, std::string const& name,
                double timeout, double wait_for_owner, bool host_memory,
                std::optional<std::uint32_t> owner_user) {
    ConnectOptions options;
    options.name = name;
    options.timeout = duration(timeout);
    options.wait_for_owner = duration(wait_for_owner);
    options.host_memory = host_memory;
    options.owner_user = owner_user;
    new (self)
        ConnectionEnd("the connection",
                      unless_interrupted([path, options] { return Connection(path, options); }));
}

ClientEnd client_of(ConnectionEnd const& self, std::uint32_t request_bytes,
                    std::string const& request_name, std::uint32_t reply_bytes,
                    std::string const& reply_name, std::string const& object) {
    BytesType const request{request_bytes, request_name};
    BytesType const reply{reply_bytes, reply_name};
    return ClientEnd(
        std::make_shared<ClientState>(unless_interrupted([to = self.get(), request, reply, object] {
            return std::unique_ptr<BytesClient>(
                new BytesClient(to->channel<Bytes, Bytes>(object, request, reply)));
        })));
}

std::vector<ServedObject> status(ConnectionEnd const& self) {
    return unless_interrupted([to = self.get()] { return to->status().objects; });
}

double seconds(std::chrono::nanoseconds time) {
    return std::chrono::duration<double>(time).count();
}

void bind_status(nb::module_& module) {
    nb::class_<ServedBlock> block(
        module, "ServedBlock",
        "A block of another process's kernel, or the end of another object.");
    show(block, {"activity", "client", "process", "user", "held", "counters", "gone"});
    block
        .def_prop_ro(
            "activity",
            [](ServedBlock const& self) { return std::string(to_string(self.activity)); },
            "\"idle\", \"busy\", \"stuck\" or \"ended\".")
        .def_ro("client", &ServedBlock::client, "The client's name; empty if there is none.")
        .def_ro("process", &ServedBlock::process, "The client's process; 0 in another namespace.")
        .def_ro("user", &ServedBlock::user, "The client's user.")
        .def_prop_ro(
            "held", [](ServedBlock const& self) { return seconds(self.held); },
            "Seconds since the client got the block.")
        .def_ro("counters", &ServedBlock::counters, "The client's counters.")
        .def_ro("gone", &ServedBlock::gone, "The counters of all earlier clients.")
        .def_prop_ro("all", &ServedBlock::all,
                     "The sum of `counters` and `gone`; it never falls, except for `depth`.");
    nb::class_<ServedObject> object(module, "ServedObject", "An object that an owner serves.");
    show(object, {"name", "state", "emulated", "blocks"});
    object.def_ro("name", &ServedObject::name, "The name that clients ask for.")
        .def_prop_ro(
            "state", [](ServedObject const& self) { return std::string(to_string(self.state)); },
            "\"starting\", \"running\", \"draining\", \"stopped\" or \"failed\".")
        .def_ro("emulated", &ServedObject::emulated, "Whether it runs on threads of a CPU.")
        .def_ro("blocks", &ServedObject::blocks, "One, unless the object is a kernel.");
}

}  // namespace

void bind_connection(nb::module_& module) {
    bind_status(module);
    nb::class_<ConnectionEnd> connection(module, "RawConnection",
                                         "A connection whose messages are bytes.");
    show(connection, {"owner"});
    Doors(connection, "Connection.")
        .def_init("connect", connect_to, nb::arg("path"), nb::arg("name"), nb::arg("timeout"),
                  nb::arg("wait_for_owner"), nb::arg("host_memory"), nb::arg("owner_user").none())
        .def("client", client_of, nb::arg("request_bytes"), nb::arg("request_name"),
             nb::arg("reply_bytes"), nb::arg("reply_name"), nb::arg("object"))
        .def("status", status)
        .def_prop_ro("owner",
                     [](ConnectionEnd const& self) {
                         auto const owner = self.get()->owner();
                         return std::tuple(owner.name, owner.process, owner.user);
                     })
        .def_prop_ro("why_host_memory",
                     [](ConnectionEnd const& self) { return self.get()->why_host_memory(); })
        .def("close", &ConnectionEnd::close);
}

}  // namespace carillon::python
