// SPDX-License-Identifier: Apache-2.0
// Rings by bytes, as Python has them.
#include <nanobind/stl/string.h>

#include <cstddef>
#include <memory>
#include <string>

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
#include "waits.hpp"

namespace carillon::python {
namespace {

using AnyRing = detail::ObjectOfBytes<Ring>;
struct RingEnd {
    std::shared_ptr<AnyRing> ring;
    Busy busy;

    [[nodiscard]] auto& sends() const { return ring->to_device("takes"); }
    [[nodiscard]] auto& takes() const { return ring->to_host("sends"); }
};
struct RingDeviceEnd {
    std::shared_ptr<AnyRing> ring;  // keeps the memory
    detail::EndOfBytes<Ring> end;
};

RingEnd* made_ring(Device const& device, std::size_t bytes, std::string const& direction,
                   std::uint32_t capacity) {
    RingOptions options;
    options.capacity = capacity;
    Direction const way = direction_of(direction);
    OthersRun const others_run;
    auto const make = [&](auto one_way) { return Ring<Bytes, one_way>(device, bytes, options); };
    return new RingEnd{std::make_shared<AnyRing>("ring", way, make), {}};
}
RingEnd* lent_ring(ConnectionEnd& connection, std::string const& object, std::uint32_t bytes,
                   std::string const& name, std::string const& direction) {
    Direction const way = direction_of(direction);
    BytesType const type{bytes, name};
    auto const ask = [to = connection.get(), object, type, way] {
        return std::make_shared<AnyRing>("ring", way, [&](auto one_way) {
            return to->template ring<Bytes, one_way>(object, type);
        });
    };
    return new RingEnd{unless_interrupted(ask), {}};
}

bool try_push(RingEnd& self, nb::handle message) {
    HeldBytes const from(message, HeldBytes::Use::read);
    InCall const in(self.busy);
    return self.sends().try_push(from.bytes(), sent);
}
std::size_t try_push_n(RingEnd& self, nb::handle messages) {
    HeldBytes const from(messages, HeldBytes::Use::read);
    InCall const in(self.busy);
    return self.sends().try_push_n(from.bytes(), sent);
}
void push(RingEnd& self, nb::handle message, double timeout) {
    auto const bound = duration(timeout);
    HeldBytes const from(message, HeldBytes::Use::read);
    InCall const in(self.busy);
    wait_in_parts(bound, [&](auto part) { self.sends().push(from.bytes(), part, sent); });
}
bool try_pop(RingEnd& self, nb::handle into) {
    HeldBytes const to(into, HeldBytes::Use::write);
    InCall const in(self.busy);
    return self.takes().try_pop(to.writable());
}
std::size_t try_pop_n(RingEnd& self, nb::handle into) {
    HeldBytes const to(into, HeldBytes::Use::write);
    InCall const in(self.busy);
    return self.takes().try_pop_n(to.writable());
}
void pop(RingEnd& self, nb::handle into, double timeout) {
    auto const bound = duration(timeout);
    HeldBytes const to(into, HeldBytes::Use::write);
    InCall const in(self.busy);
    wait_in_parts(bound, [&](auto part) { self.takes().pop(to.writable(), part); });
}

bool device_push(RingDeviceEnd& self, nb::handle message) {
    return self.end.to_host("takes").try_push(HeldBytes(message, HeldBytes::Use::read).bytes());
}
bool device_pop(RingDeviceEnd& self, nb::handle into) {
    return self.end.to_device("sends").try_pop(HeldBytes(into, HeldBytes::Use::write).writable());
}

}  // namespace

void bind_ring(nb::module_& module) {
    nb::class_<RingDeviceEnd> device_end(module, "BytesDeviceEnd",
                                         "The device's end of a ring, on the emulated device.");
    Doors(device_end, "RingDeviceEnd.")
        .def("try_push", device_push, nb::arg("message"))
        .def("try_pop", device_pop, nb::arg("into"));
    nb::class_<RingEnd> ring(module, "BytesRing", "A ring whose messages are bytes.");
    Doors(ring, "Ring.")
        .def_new("Ring", made_ring, nb::arg("device"), nb::arg("bytes"), nb::arg("direction"),
                 nb::arg("capacity"))
        .def_static("Connection.ring", "_lent", lent_ring, nb::arg("connection"), nb::arg("object"),
                    nb::arg("bytes"), nb::arg("name"), nb::arg("direction"),
                    nb::rv_policy::take_ownership)
        .def("try_push", try_push, nb::arg("message"))
        .def_as("try_push_many", "try_push_n", try_push_n, nb::arg("messages"))
        .def("push", push, nb::arg("message"), nb::arg("timeout"))
        .def("try_pop", try_pop, nb::arg("into"))
        .def_as("try_pop_many", "try_pop_n", try_pop_n, nb::arg("into"))
        .def("pop", pop, nb::arg("into"), nb::arg("timeout"))
        .def("emulated_end",
             [](RingEnd& self) {
                 return RingDeviceEnd{self.ring, self.ring->emulated_end()};
             })
        .def_prop_ro("capacity",
                     [](RingEnd const& self) {
                         return self.ring->visit([](auto& one) { return one.capacity(); });
                     })
        .def_prop_ro("message_bytes", [](RingEnd const& self) {
            return self.ring->visit([](auto& one) { return one.message_bytes(); });
        });
}

}  // namespace carillon::python
