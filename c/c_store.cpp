// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

namespace carillon::c {
namespace {

// A quarter of the processors is the limit in any case.
unsigned threads_of(std::uint64_t given) {
    return static_cast<unsigned>(std::min<std::uint64_t>(given, 1024));
}

Store open_store(carillon_device const* device, carillon_store_options const* given) {
    auto const options = known(given, "options");
    StoreOptions store;
    if (options.bytes != 0) store.bytes = options.bytes;
    if (options.buffers != 0) store.buffers = options.buffers;
    if (options.copy_threads != 0) store.copy_threads = threads_of(options.copy_threads);
    return Store(checked(device, "device").device, store);
}

Store connect_to_store(char const* path, carillon_store_connect_options const* given) {
    auto const options = known(given, "options");
    ConnectOptions connect = connect_options(options);
    if (options.copy_threads != 0) connect.copy_threads = threads_of(options.copy_threads);
    return Store(&checked(path, "path"), connect);
}

Store const& store_at(carillon_store const* store) { return checked(store, "store").store; }

Buffer const& buffer_at(carillon_buffer const* buffer) { return checked(buffer, "buffer").buffer; }

carillon_buffer_info info_of_buffer(Buffer const& buffer) {
    carillon_buffer_info info{};
    info.id = buffer.id();
    info.bytes = buffer.size();
    info.sealed = buffer.is_mutable() ? 0 : 1;
    info.host_memory = buffer.is_cpu() ? 1 : 0;
    copy_name(info.name, buffer.name());
    info.host = const_cast<std::byte*>(buffer.data().data());
    try {
        info.device = const_cast<void*>(buffer.device_ptr());
    } catch (UnsupportedError const&) {  // no kernel of this process finds it
    }
    return info;
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
    return c::open("carillon_store_create", store, [&] { return c::open_store(device, options); });
}
carillon_status carillon_store_connect(char const* path,
                                       carillon_store_connect_options const* options,
                                       carillon_store** store) {
    return c::open("carillon_store_connect", store,
                   [&] { return c::connect_to_store(path, options); });
}
void carillon_store_close(carillon_store** store) { c::close(store); }
carillon_status carillon_connection_store(carillon_connection const* connection,
                                          carillon_store** store) {
    return c::open("carillon_connection_store", store,
                   [&] { return c::checked(connection, "connection").connection.store(); });
}
carillon_status carillon_store_serve(carillon_store const* store, char const* path,
                                     carillon_serve_options const* options,
                                     carillon_store_server** server) {
    return c::open("carillon_store_serve", server, [&] {
        return c::store_at(store).serve(&c::checked(path, "path"),
                                        c::serve_options(c::known(options, "options")));
    });
}
void carillon_store_server_close(carillon_store_server** server) { c::close(server); }

carillon_status carillon_store_make(carillon_store const* store, char const* name, uint64_t bytes,
                                    carillon_buffer** buffer) {
    return c::open("carillon_store_make", buffer,
                   [&] { return c::store_at(store).create(name == nullptr ? "" : name, bytes); });
}
carillon_status carillon_store_get(carillon_store const* store, char const* name,
                                   carillon_buffer** buffer) {
    return c::open("carillon_store_get", buffer,
                   [&] { return c::store_at(store).get(&c::checked(name, "name")); });
}
carillon_status carillon_store_get_id(carillon_store const* store, uint64_t id,
                                      carillon_buffer** buffer) {
    return c::open("carillon_store_get_id", buffer, [&] { return c::store_at(store).get(id); });
}
carillon_status carillon_store_remove(carillon_store const* store, char const* name) {
    return c::guarded("carillon_store_remove",
                      [&] { c::store_at(store).remove(&c::checked(name, "name")); });
}
carillon_status carillon_store_remove_id(carillon_store const* store, uint64_t id) {
    return c::guarded("carillon_store_remove_id", [&] { c::store_at(store).remove(id); });
}
carillon_status carillon_store_list(carillon_store const* store, carillon_listed_buffer* buffers,
                                    size_t room, size_t* count) {
    return c::guarded("carillon_store_list", [&] {
        c::checked(count, "output for the count") = 0;
        if (room != 0) (void)c::checked(buffers, "output for the buffers");
        auto const all = c::store_at(store).list();
        *count = c::tell_all(all, c::listed, buffers, room);
    });
}

void carillon_buffer_close(carillon_buffer** buffer) { c::close(buffer); }
carillon_status carillon_buffer_get_info(carillon_buffer const* buffer,
                                         carillon_buffer_info* info) {
    return c::guarded("carillon_buffer_get_info",
                      [&] { c::tell(c::info_of_buffer(c::buffer_at(buffer)), info); });
}
carillon_status carillon_buffer_write(carillon_buffer* buffer, uint64_t offset, void const* from,
                                      uint64_t bytes) {
    return c::guarded("carillon_buffer_write", [&] {
        c::checked(buffer, "buffer").buffer.write(c::bytes_at(from, bytes), offset);
    });
}
carillon_status carillon_buffer_read(carillon_buffer const* buffer, uint64_t offset, void* to,
                                     uint64_t bytes) {
    return c::guarded("carillon_buffer_read", [&] {
        carillon::Buffer const& of = c::buffer_at(buffer);
        if (of.is_mutable()) {
            throw carillon::UsageError("the buffer is not sealed: call carillon_buffer_seal first");
        }
        of.read(c::room_at(to, bytes), offset);
    });
}
carillon_status carillon_buffer_seal(carillon_buffer* buffer) {
    return c::guarded("carillon_buffer_seal",
                      [&] { (void)c::checked(buffer, "buffer").buffer.seal(); });
}

carillon_status carillon_store_events_open(carillon_store const* store,
                                           carillon_store_events** events) {
    return c::open("carillon_store_events_open", events,
                   [&] { return c::store_at(store).sealed_events(); });
}
void carillon_store_events_close(carillon_store_events** events) { c::close(events); }
carillon_status carillon_store_events_descriptor(carillon_store_events const* events,
                                                 int* descriptor) {
    return c::guarded("carillon_store_events_descriptor", [&] {
        c::checked(descriptor, "output for the descriptor") = -1;
        *descriptor = c::checked(events, "events").events.descriptor();
    });
}
carillon_status carillon_store_events_next(carillon_store_events* events, int64_t timeout_ns,
                                           carillon_sealed_buffer* buffer) {
    return c::guarded("carillon_store_events_next", [&] {
        carillon_sealed_buffer told{};
        c::tell(told, buffer);  // there is room for it, before one is taken
        auto& of = c::checked(events, "events").events;
        auto const sealed = of.next(std::chrono::nanoseconds(timeout_ns));
        if (!sealed) return c::now(false);
        told.id = sealed->id;
        told.bytes = sealed->size;
        told.missed = sealed->missed;
        c::copy_name(told.name, sealed->name);
        c::tell(told, buffer);
        return c::now(true);
    });
}

carillon_status carillon_store_sealed_open(carillon_store const* store,
                                           carillon_store_sealed** sealed) {
    return c::open("carillon_store_sealed_open", sealed,
                   [&] { return c::store_at(store).sealed_buffers(); });
}
void carillon_store_sealed_close(carillon_store_sealed** sealed) { c::close(sealed); }
carillon_status carillon_store_sealed_descriptor(carillon_store_sealed const* sealed,
                                                 int* descriptor) {
    return c::guarded("carillon_store_sealed_descriptor", [&] {
        c::checked(descriptor, "output for the descriptor") = -1;
        *descriptor = c::checked(sealed, "handle").buffers.descriptor();
    });
}
carillon_status carillon_store_sealed_next(carillon_store_sealed* sealed, int64_t timeout_ns,
                                           carillon_buffer** buffer) {
    return c::guarded("carillon_store_sealed_next", [&] {
        c::checked(buffer, "output for the handle") = nullptr;
        auto& of = c::checked(sealed, "handle").buffers;
        auto next = of.next(std::chrono::nanoseconds(timeout_ns));
        if (next) *buffer = new carillon_buffer{std::move(*next)};
        return c::now(*buffer != nullptr);
    });
}
carillon_status carillon_store_sealed_missed(carillon_store_sealed const* sealed,
                                             uint64_t* missed) {
    return c::guarded("carillon_store_sealed_missed", [&] {
        c::checked(missed, "output for the count") = 0;
        *missed = c::checked(sealed, "handle").buffers.missed();
    });
}

}  // extern "C"
