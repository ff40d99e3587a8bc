// SPDX-License-Identifier: Apache-2.0
#include "handles.hpp"

namespace carillon::c {
namespace {

IdlePolicy idle_of(carillon_idle idle) {
    switch (idle) {
        case CARILLON_IDLE_PARK:
            return IdlePolicy::park();
        case CARILLON_IDLE_BACKOFF:
            return IdlePolicy::backoff();
        case CARILLON_IDLE_SPIN:
            return IdlePolicy::spin();
    }
    throw UsageError(
        fmt::format("there is no idle policy {}: use CARILLON_IDLE_PARK, _BACKOFF or _SPIN",
                    static_cast<int>(idle)));
}

Connection connect(char const* path, carillon_connect_options const* given) {
    auto const options = connect_options(known(given, "options"));
    return Connection(&checked(path, "path"), options);
}

carillon_kernel start(carillon_device const* device, carillon_kernel_options const* given) {
    Device const& of = checked(device, "device").device;
    (void)checked(given, "struct of options");
    auto const options = known(given, "options");
    KernelOptions kernel{.blocks = options.blocks == 0 ? 1 : options.blocks,
                         .idle = idle_of(options.idle)};
    if (options.capacity != 0) kernel.capacity = options.capacity;
    kernel.stop_timeout = time_or(options.stop_timeout_ns, kernel.stop_timeout);
    return {std::make_shared<BytesKernel>(
                of, type_of(options.request), type_of(options.reply), options.handler, options.user,
                kernel,
                options.for_others != 0 ? BytesClients::of_others : BytesClients::of_this_process),
            kernel.stop_timeout};
}

Server serve(char const* path, carillon_kernel const* kernel, carillon_serve_options const* given) {
    BytesKernel const& of = *checked(kernel, "kernel").kernel;
    auto const options = serve_options(known(given, "options"));
    return of.serve(&checked(path, "path"), options, options.name.value_or("kernel"));
}

carillon_object object_of(ServedObject const& served) {
    carillon_object object{};
    copy_name(object.name, served.name);
    copy_name(object.kind, to_string(served.kind));
    object.state = state_of(served.state);
    object.emulated = served.emulated ? 1 : 0;
    object.blocks = static_cast<std::uint32_t>(served.blocks.size());
    for (ServedBlock const& block : served.blocks) object.clients += block.client.empty() ? 0 : 1;
    return object;
}

BytesKernel& kernel_of(carillon_kernel const* kernel) { return *checked(kernel, "kernel").kernel; }

}  // namespace
}  // namespace carillon::c

namespace c = carillon::c;

extern "C" {

carillon_status carillon_connect(char const* path, carillon_connect_options const* options,
                                 carillon_connection** connection) {
    return c::open("carillon_connect", connection, [&] { return c::connect(path, options); });
}
void carillon_connection_close(carillon_connection** connection) { c::close(connection); }
carillon_status carillon_connection_objects(carillon_connection const* connection,
                                            carillon_object* objects, size_t room, size_t* count) {
    return c::guarded("carillon_connection_objects", [&] {
        c::checked(count, "output for the count") = 0;
        if (room != 0) (void)c::checked(objects, "output for the objects");
        auto const status = c::checked(connection, "connection").connection.status();
        *count = c::tell_all(status.objects, c::object_of, objects, room);
    });
}
carillon_status carillon_connection_owner(carillon_connection const* connection, int32_t* process) {
    return c::guarded("carillon_connection_owner", [&] {
        c::checked(process, "output for the process") = 0;
        auto const& of = c::checked(connection, "connection").connection;
        (void)of.status();
        *process = of.owner().process;
    });
}
carillon_status carillon_connection_owner_user(carillon_connection const* connection,
                                               uint32_t* user) {
    return c::guarded("carillon_connection_owner_user", [&] {
        c::checked(user, "output for the user") = 0;
        *user = c::checked(connection, "connection").connection.owner().user;
    });
}

carillon_status carillon_kernel_start(carillon_device const* device,
                                      carillon_kernel_options const* options,
                                      carillon_kernel** kernel) {
    return c::open("carillon_kernel_start", kernel, [&] { return c::start(device, options); });
}
void carillon_kernel_close(carillon_kernel** kernel) {
    if (kernel == nullptr || *kernel == nullptr) return;
    (void)c::guarded("carillon_kernel_close",
                     [&] { (*kernel)->kernel->stop((*kernel)->stop_timeout); });
    c::close(kernel);
}
carillon_status carillon_kernel_get_state(carillon_kernel const* kernel, carillon_state* state) {
    return c::guarded("carillon_kernel_get_state", [&] {
        (void)c::checked(state, "output for the state");
        *state = c::state_of(c::kernel_of(kernel).state());
    });
}
carillon_status carillon_kernel_drain(carillon_kernel* kernel, int64_t timeout_ns) {
    return c::guarded("carillon_kernel_drain",
                      [&] { c::kernel_of(kernel).drain(std::chrono::nanoseconds(timeout_ns)); });
}
carillon_status carillon_kernel_stop(carillon_kernel* kernel, int64_t timeout_ns) {
    return c::guarded("carillon_kernel_stop",
                      [&] { c::kernel_of(kernel).stop(std::chrono::nanoseconds(timeout_ns)); });
}

carillon_status carillon_kernel_serve(carillon_kernel const* kernel, char const* path,
                                      carillon_serve_options const* options,
                                      carillon_server** server) {
    return c::open("carillon_kernel_serve", server,
                   [&] { return c::serve(path, kernel, options); });
}
void carillon_server_close(carillon_server** server) { c::close(server); }

}  // extern "C"
