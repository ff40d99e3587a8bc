// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

namespace c = carillon::c;

extern "C" {

carillon_status carillon_mailbox_create(carillon_device const* device, void const* initial,
                                        size_t bytes, carillon_direction direction,
                                        uint32_t capacity, carillon_mailbox** mailbox) {
    return c::open("carillon_mailbox_create", mailbox, [&] {
        carillon::MailboxOptions options;
        if (capacity != 0) options.capacity = capacity;
        auto const& of = c::checked(device, "device").device;
        auto const first = c::bytes_at(initial, bytes);
        return std::make_shared<c::AnyMailbox>(
            "mailbox", c::direction_of(direction),
            [&](auto way) { return carillon::Mailbox<carillon::Bytes, way>(of, first, options); });
    });
}
carillon_status carillon_connection_mailbox(carillon_connection const* connection,
                                            char const* object, carillon_type type,
                                            carillon_direction direction,
                                            carillon_mailbox** mailbox) {
    return c::open("carillon_connection_mailbox", mailbox, [&] {
        auto const& of = c::checked(connection, "connection").connection;
        char const* const name = &c::checked(object, "name");
        return std::make_shared<c::AnyMailbox>(
            "mailbox", c::direction_of(direction),
            [&](auto way) { return of.mailbox<carillon::Bytes, way>(name, c::type_of(type)); });
    });
}
void carillon_mailbox_close(carillon_mailbox** mailbox) { c::close(mailbox); }

carillon_status carillon_mailbox_get_info(carillon_mailbox const* mailbox,
                                          carillon_mailbox_info* info) {
    return c::guarded("carillon_mailbox_get_info", [&] {
        auto const& any = *c::checked(mailbox, "mailbox").mailbox;
        auto const size = any.visit([](auto const& of) { return of.value_bytes(); });
        c::tell(
            carillon_mailbox_info{0, static_cast<std::uint32_t>(size), c::told(any.direction())},
            info);
    });
}
carillon_status carillon_mailbox_set(carillon_mailbox* mailbox, void const* value, size_t bytes,
                                     int out_of_line) {
    return c::guarded("carillon_mailbox_set", [&] {
        c::checked(mailbox, "mailbox")
            .mailbox->to_device("reads")
            .set(c::bytes_at(value, bytes), c::out_of_line(out_of_line));
    });
}
carillon_status carillon_mailbox_refresh(carillon_mailbox* mailbox, void* value, size_t bytes) {
    return c::guarded("carillon_mailbox_refresh", [&] {
        return c::now(c::checked(mailbox, "mailbox")
                          .mailbox->to_host("sets")
                          .refresh(c::room_at(value, bytes)));
    });
}

carillon_status carillon_mailbox_emulated_end(carillon_mailbox* mailbox,
                                              carillon_mailbox_end** end) {
    return c::open("carillon_mailbox_emulated_end", end, [&] {
        auto const& of = c::checked(mailbox, "mailbox").mailbox;
        return carillon_mailbox_end{of, of->emulated_end()};
    });  // NOLINT: whoever closes the end frees it
}
void carillon_mailbox_end_close(carillon_mailbox_end** end) { c::close(end); }
carillon_status carillon_mailbox_end_set(carillon_mailbox_end* end, void const* value,
                                         size_t bytes) {
    return c::guarded("carillon_mailbox_end_set", [&] {
        c::checked(end, "end").end.to_host("reads").set(c::bytes_at(value, bytes));
    });
}
carillon_status carillon_mailbox_end_refresh(carillon_mailbox_end* end, void* value, size_t bytes) {
    return c::guarded("carillon_mailbox_end_refresh", [&] {
        return c::now(
            c::checked(end, "end").end.to_device("sets").refresh(c::room_at(value, bytes)));
    });
}

}  // extern "C"
