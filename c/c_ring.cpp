// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

namespace c = carillon::c;

extern "C" {

carillon_status carillon_ring_create(carillon_device const* device, uint32_t message_bytes,
                                     carillon_direction direction, uint32_t capacity,
                                     carillon_ring** ring) {
    return c::open("carillon_ring_create", ring, [&] {
        carillon::RingOptions options;
        if (capacity != 0) options.capacity = capacity;
        auto const& of = c::checked(device, "device").device;
        return std::make_shared<c::AnyRing>("ring", c::direction_of(direction), [&](auto way) {
            return carillon::Ring<carillon::Bytes, way>(of, message_bytes, options);
        });
    });
}
carillon_status carillon_connection_ring(carillon_connection const* connection, char const* object,
                                         carillon_type type, carillon_direction direction,
                                         carillon_ring** ring) {
    return c::open("carillon_connection_ring", ring, [&] {
        auto const& of = c::checked(connection, "connection").connection;
        char const* const name = &c::checked(object, "name");
        return std::make_shared<c::AnyRing>("ring", c::direction_of(direction), [&](auto way) {
            return of.ring<carillon::Bytes, way>(name, c::type_of(type));
        });
    });
}
void carillon_ring_close(carillon_ring** ring) { c::close(ring); }

carillon_status carillon_ring_get_info(carillon_ring const* ring, carillon_ring_info* info) {
    return c::guarded("carillon_ring_get_info", [&] {
        auto const& any = *c::checked(ring, "ring").ring;
        any.visit([&](auto const& of) {
            c::tell(carillon_ring_info{0, static_cast<std::uint32_t>(of.message_bytes()),
                                       of.capacity(), c::told(any.direction())},
                    info);
        });
    });
}

carillon_status carillon_ring_push(carillon_ring* ring, void const* message, size_t bytes,
                                   int64_t timeout_ns, int out_of_line) {
    return c::guarded("carillon_ring_push", [&] {
        auto& of = c::checked(ring, "ring").ring->to_device("takes");
        auto const one = c::bytes_at(message, bytes);
        auto const data = c::out_of_line(out_of_line);
        if (timeout_ns == 0) return c::now(of.try_push(one, data));
        of.push(one, std::chrono::nanoseconds(timeout_ns), data);
        return c::now(true);
    });
}
carillon_status carillon_ring_pop(carillon_ring* ring, void* message, size_t bytes,
                                  int64_t timeout_ns) {
    return c::guarded("carillon_ring_pop", [&] {
        auto& of = c::checked(ring, "ring").ring->to_host("sends");
        auto const room = c::room_at(message, bytes);
        if (timeout_ns == 0) return c::now(of.try_pop(room));
        of.pop(room, std::chrono::nanoseconds(timeout_ns));
        return c::now(true);
    });
}

carillon_status carillon_ring_push_n(carillon_ring* ring, void const* messages, size_t bytes,
                                     size_t count, int out_of_line, size_t* done) {
    return c::guarded("carillon_ring_push_n", [&] {
        c::checked(done, "output for the count") = 0;
        auto& of = c::checked(ring, "ring").ring->to_device("takes");
        c::require_size(bytes, of.message_bytes());
        auto const all = c::bytes_at(messages, c::bytes_of_all(bytes, count));
        *done = of.try_push_n(all, c::out_of_line(out_of_line));
        return c::now(count == 0 || *done != 0);
    });
}
carillon_status carillon_ring_pop_n(carillon_ring* ring, void* messages, size_t bytes, size_t count,
                                    size_t* done) {
    return c::guarded("carillon_ring_pop_n", [&] {
        c::checked(done, "output for the count") = 0;
        auto& of = c::checked(ring, "ring").ring->to_host("sends");
        c::require_size(bytes, of.message_bytes());
        *done = of.try_pop_n(c::room_at(messages, c::bytes_of_all(bytes, count)));
        return c::now(count == 0 || *done != 0);
    });
}

carillon_status carillon_ring_emulated_end(carillon_ring* ring, carillon_ring_end** end) {
    return c::open("carillon_ring_emulated_end", end, [&] {
        auto const& of = c::checked(ring, "ring").ring;
        return carillon_ring_end{of, of->emulated_end()};
    });  // NOLINT: whoever closes the end frees it
}
void carillon_ring_end_close(carillon_ring_end** end) { c::close(end); }
carillon_status carillon_ring_end_push(carillon_ring_end* end, void const* message, size_t bytes) {
    return c::guarded("carillon_ring_end_push", [&] {
        return c::now(
            c::checked(end, "end").end.to_host("takes").try_push(c::bytes_at(message, bytes)));
    });
}
carillon_status carillon_ring_end_pop(carillon_ring_end* end, void* message, size_t bytes) {
    return c::guarded("carillon_ring_end_pop", [&] {
        return c::now(
            c::checked(end, "end").end.to_device("sends").try_pop(c::room_at(message, bytes)));
    });
}

}  // extern "C"
