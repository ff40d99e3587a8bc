// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

namespace carillon::c {
namespace {

constexpr char const* store_call = "carillon_store_create";
constexpr char const* store_connect_call = "carillon_store_connect";

// A quarter of the processors is the limit in any case.
unsigned threads_of(std::uint64_t given) {
    return static_cast<unsigned>(std::min<std::uint64_t>(given, 1024));
}

Store open_store(carillon_device const* device, carillon_store_options const* given) {
    auto const options = known(store_call, given, "options");
    StoreOptions store;
    if (options.bytes != 0) store.bytes = options.bytes;
    if (options.buffers != 0) store.buffers = options.buffers;
    if (options.copy_threads != 0) store.copy_threads = threads_of(options.copy_threads);
    return Store(checked(store_call, device, "device").device, store);
}

Store connect_to_store(char const* path, carillon_store_connect_options const* given) {
    auto const options = known(store_connect_call, given, "options");
    ConnectOptions connect = connect_options(options);
    if (options.copy_threads != 0) connect.copy_threads = threads_of(options.copy_threads);
    return Store(&checked(store_connect_call, path, "path"), connect);
}

Store const& store_at(std::string_view call, carillon_store const* store) {
    return checked(call, store, "store").store;
}

template <class Buffer>
carillon_buffer_info info_of_buffer(Buffer const& buffer) {
    carillon_buffer_info info{};
    info.id = buffer.id();
    info.bytes = buffer.size();
    info.host_memory = buffer.is_cpu() ? 1 : 0;
    copy_name(info.name, buffer.name());
    if constexpr (Buffer::is_mutable()) {
        info.host = buffer.mutable_data().data();
    } else {
        info.sealed = 1;
        info.host = const_cast<std::byte*>(buffer.data().data());
    }
    try {
        info.device = const_cast<void*>(static_cast<void const*>(buffer.device_ptr()));
    } catch (UnsupportedError const&) {  // no kernel of this process finds it
    }
    return info;
}

MutableBuffer& writable(std::string_view call, carillon_buffer* buffer) {
    auto* const open = std::get_if<MutableBuffer>(&checked(call, buffer, "buffer").buffer);
    if (open == nullptr) throw UsageError(call, "the buffer was sealed");
    return *open;
}

carillon_listed_buffer listed(BufferInfo const& buffer) {
    carillon_listed_buffer all{};
    all.id = buffer.id;
    all.bytes = buffer.size;
    all.sealed = buffer.sealed ? 1 : 0;
    all.holders = buffer.holders;
    all.process = buffer.process;
    all.user = buffer.user;
    copy_name(all.name, buffer.name);
    return all;
}

}  // namespace
}  // namespace carillon::c

namespace c = carillon::c;

extern "C" {

carillon_status carillon_store_create(carillon_device const* device,
                                      carillon_store_options const* options,
                                      carillon_store** store) {
    return c::open(c::store_call, store, [&] { return c::open_store(device, options); });
}
carillon_status carillon_store_connect(char const* path,
                                       carillon_store_connect_options const* options,
                                       carillon_store** store) {
    return c::open(c::store_connect_call, store,
                   [&] { return c::connect_to_store(path, options); });
}
void carillon_store_close(carillon_store** store) { c::close(store); }
carillon_status carillon_connection_store(carillon_connection const* connection,
                                          carillon_store** store) {
    constexpr char const* call = "carillon_connection_store";
    return c::open(call, store,
                   [&] { return c::checked(call, connection, "connection").connection.store(); });
}
carillon_status carillon_store_serve(carillon_store const* store, char const* path,
                                     carillon_serve_options const* options,
                                     carillon_store_server** server) {
    constexpr char const* call = "carillon_store_serve";
    return c::open(call, server, [&] {
        return c::store_at(call, store)
            .serve(&c::checked(call, path, "path"),
                   c::serve_options(c::known(call, options, "options")));
    });
}
void carillon_store_server_close(carillon_store_server** server) { c::close(server); }

carillon_status carillon_store_make(carillon_store const* store, char const* name, uint64_t bytes,
                                    carillon_buffer** buffer) {
    constexpr char const* call = "carillon_store_make";
    return c::open(call, buffer, [&] {
        return c::store_at(call, store).create(name == nullptr ? "" : name, bytes);
    });
}
carillon_status carillon_store_get(carillon_store const* store, char const* name,
                                   carillon_buffer** buffer) {
    constexpr char const* call = "carillon_store_get";
    return c::open(call, buffer,
                   [&] { return c::store_at(call, store).get(&c::checked(call, name, "name")); });
}
carillon_status carillon_store_get_id(carillon_store const* store, uint64_t id,
                                      carillon_buffer** buffer) {
    constexpr char const* call = "carillon_store_get_id";
    return c::open(call, buffer, [&] { return c::store_at(call, store).get(id); });
}
carillon_status carillon_store_remove(carillon_store const* store, char const* name) {
    return c::guarded("carillon_store_remove", [&](std::string_view call) {
        c::store_at(call, store).remove(&c::checked(call, name, "name"));
    });
}
carillon_status carillon_store_remove_id(carillon_store const* store, uint64_t id) {
    return c::guarded("carillon_store_remove_id",
                      [&](std::string_view call) { c::store_at(call, store).remove(id); });
}
carillon_status carillon_store_list(carillon_store const* store, carillon_listed_buffer* buffers,
                                    size_t room, size_t* count) {
    return c::guarded("carillon_store_list", [&](std::string_view call) {
        c::checked(call, count, "room for the count") = 0;
        if (room != 0) (void)c::checked(call, buffers, "room for the buffers");
        auto const all = c::store_at(call, store).list();
        *count = c::tell_all(call, all, c::listed, buffers, room);
    });
}

void carillon_buffer_close(carillon_buffer** buffer) { c::close(buffer); }
carillon_status carillon_buffer_get_info(carillon_buffer const* buffer,
                                         carillon_buffer_info* info) {
    return c::guarded("carillon_buffer_get_info", [&](std::string_view call) {
        c::tell(call,
                std::visit([](auto const& of) { return c::info_of_buffer(of); },
                           c::checked(call, buffer, "buffer").buffer),
                info);
    });
}
carillon_status carillon_buffer_write(carillon_buffer* buffer, uint64_t offset, void const* from,
                                      uint64_t bytes) {
    return c::guarded("carillon_buffer_write", [&](std::string_view call) {
        c::writable(call, buffer).write(c::bytes_at(call, from, bytes), offset);
    });
}
carillon_status carillon_buffer_read(carillon_buffer const* buffer, uint64_t offset, void* to,
                                     uint64_t bytes) {
    return c::guarded("carillon_buffer_read", [&](std::string_view call) {
        auto const* const of =
            std::get_if<carillon::Buffer>(&c::checked(call, buffer, "buffer").buffer);
        if (of == nullptr) throw carillon::UsageError(call, "the buffer was not sealed");
        of->read(c::room_at(call, to, bytes), offset);
    });
}
carillon_status carillon_buffer_seal(carillon_buffer* buffer) {
    return c::guarded("carillon_buffer_seal", [&](std::string_view call) {
        carillon::Buffer sealed = c::writable(call, buffer).seal();
        buffer->buffer = std::move(sealed);
    });
}

carillon_status carillon_store_events_open(carillon_store const* store,
                                           carillon_store_events** events) {
    constexpr char const* call = "carillon_store_events_open";
    return c::open(call, events, [&] { return c::store_at(call, store).sealed_events(); });
}
void carillon_store_events_close(carillon_store_events** events) { c::close(events); }
carillon_status carillon_store_events_descriptor(carillon_store_events const* events,
                                                 int* descriptor) {
    return c::guarded("carillon_store_events_descriptor", [&](std::string_view call) {
        c::checked(call, descriptor, "room for the descriptor") = -1;
        *descriptor = c::checked(call, events, "events").events.descriptor();
    });
}
carillon_status carillon_store_events_next(carillon_store_events* events, int64_t timeout_ns,
                                           carillon_sealed_buffer* buffer) {
    return c::guarded("carillon_store_events_next", [&](std::string_view call) {
        carillon_sealed_buffer told{};
        c::tell(call, told, buffer);  // there is room for it, before one is taken
        auto& of = c::checked(call, events, "events").events;
        auto const sealed = of.next(std::chrono::nanoseconds(timeout_ns));
        if (!sealed) return c::now(false);
        told.id = sealed->id;
        told.bytes = sealed->size;
        told.missed = sealed->missed;
        c::copy_name(told.name, sealed->name);
        c::tell(call, told, buffer);
        return c::now(true);
    });
}

carillon_status carillon_store_sealed_open(carillon_store const* store,
                                           carillon_store_sealed** sealed) {
    constexpr char const* call = "carillon_store_sealed_open";
    return c::open(call, sealed, [&] { return c::store_at(call, store).sealed_buffers(); });
}
void carillon_store_sealed_close(carillon_store_sealed** sealed) { c::close(sealed); }
carillon_status carillon_store_sealed_descriptor(carillon_store_sealed const* sealed,
                                                 int* descriptor) {
    return c::guarded("carillon_store_sealed_descriptor", [&](std::string_view call) {
        c::checked(call, descriptor, "room for the descriptor") = -1;
        *descriptor = c::checked(call, sealed, "handle").buffers.descriptor();
    });
}
carillon_status carillon_store_sealed_next(carillon_store_sealed* sealed, int64_t timeout_ns,
                                           carillon_buffer** buffer) {
    return c::guarded("carillon_store_sealed_next", [&](std::string_view call) {
        c::checked(call, buffer, "room for the handle") = nullptr;
        auto& of = c::checked(call, sealed, "handle").buffers;
        auto next = of.next(std::chrono::nanoseconds(timeout_ns));
        if (next) *buffer = new carillon_buffer{std::move(*next)};
        return c::now(*buffer != nullptr);
    });
}
carillon_status carillon_store_sealed_missed(carillon_store_sealed const* sealed,
                                             uint64_t* missed) {
    return c::guarded("carillon_store_sealed_missed", [&](std::string_view call) {
        c::checked(call, missed, "room for the count") = 0;
        *missed = c::checked(call, sealed, "handle").buffers.missed();
    });
}

}  // extern "C"
