// SPDX-License-Identifier: Apache-2.0
// Makes a shared library of one source whose kernel `carillon serve --library FILE` serves:
//
//   #include <carillon/served_kernel.hpp>
//   CARILLON_SERVED_KERNEL(MyHandler)   // or CARILLON_SERVED_POOL
//
// The library is linked with Carillon like any program (docs/dev/protocol.md).
#pragma once

#include <algorithm>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string_view>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/served_library.hpp"
#include "carillon/server.hpp"

namespace carillon::detail {
inline namespace CARILLON_TOOLCHAIN {

template <std::size_t size>
void copy_text(char (&to)[size], std::string_view text) {
    std::size_t const length = (std::min)(text.size(), size - 1);
    std::fill(std::copy_n(text.data(), length, to), to + size, '\0');
}

[[nodiscard]] inline IdlePolicy idle_policy(std::uint32_t idle, bool emulated) {
    // There may be fewer CPU threads than blocks.
    auto const by_default = emulated ? IdlePolicy::park() : IdlePolicy::spin();
    IdlePolicy const policies[] = {by_default, IdlePolicy::spin(), IdlePolicy::backoff(),
                                   IdlePolicy::park()};
    return idle < std::size(policies) ? policies[idle] : by_default;
}

// Returns the result of `body`, or sets the error and returns an empty result.
template <class Body>
[[nodiscard]] auto without_throwing(ServedKernelError* error, Body&& body) noexcept
    -> decltype(body()) {
    try {
        *error = {};
        return body();
    } catch (UsageError const& thrown) {
        copy_text(error->text, thrown.what());
        error->usage = 1;
    } catch (std::exception const& thrown) {
        copy_text(error->text, thrown.what());
    } catch (...) {  // a handler may throw anything
        copy_text(error->text, "something other than an exception");
    }
    return {};
}

// A kernel, and the server of its clients.
template <class Requests, class Handler>
class ServedKernel {
   public:
    explicit ServedKernel(ServedKernelOptions const& options)
        : device_(Device::open(options.device)),
          options_(kernel_options(options, device_.info().emulated)),
          kernel_(device_, options_),
          server_(kernel_.serve(options.path, serve_options(options), options.name)) {}

    [[nodiscard]] ServedKernelFacts facts() const {
        ServedKernelFacts facts{};
        copy_text(facts.device, device_.info().name);
        facts.blocks = kernel_.blocks();
        facts.clients = kernel_.blocks();
        if constexpr (std::same_as<Requests, SharedPool>)
            facts.clients = options_.shared_pool.clients;
        facts.emulated = device_.info().emulated ? 1 : 0;
        return facts;
    }
    [[nodiscard]] bool running() const { return kernel_.running(); }
    void drain(std::chrono::milliseconds timeout) { kernel_.drain(timeout); }

   private:
    // Uses no designators, because clang warns of nvcc's output for them. Throws UsageError.
    [[nodiscard]] static KernelOptions kernel_options(ServedKernelOptions const& options,
                                                      bool emulated) {
        KernelOptions kernel;
        kernel.blocks = options.blocks;
        kernel.capacity = options.capacity;
        kernel.idle = idle_policy(options.idle, emulated);
        if (options.clients == 0) return kernel;
        if (!std::same_as<Requests, SharedPool>) {
            throw UsageError(
                "--clients needs a kernel of CARILLON_SERVED_POOL: this kernel has one block per "
                "client (--blocks)");
        }
        kernel.shared_pool.clients = options.clients;
        return kernel;
    }
    [[nodiscard]] static ServeOptions serve_options(ServedKernelOptions const& options) {
        ServeOptions serve;
        serve.mode = options.mode;
        serve.users.assign(options.users, options.users + options.users_count);
        serve.groups.assign(options.groups, options.groups + options.groups_count);
        return serve;
    }

    Device device_;
    KernelOptions options_;
    PersistentKernel<Handler, Requests> kernel_;
    Server server_;  // destroyed first: its clients learn that their owner ends
};

template <class Requests, class Handler>
[[nodiscard]] constexpr ServedKernelLibrary served_kernel_library(char const* name) {
    using Served = ServedKernel<Requests, Handler>;
    return {served_kernel_magic,
            served_kernel_version,
            sizeof(ServedKernelLibrary),
            name,
            [](ServedKernelOptions const* options, ServedKernelFacts* facts,
               ServedKernelError* error) -> void* {
                return without_throwing(error, [&]() -> Served* {
                    auto served = std::make_unique<Served>(*options);
                    *facts = served->facts();
                    return served.release();
                });
            },
            [](void* kernel, ServedKernelError* error) -> std::int32_t {
                return without_throwing(
                    error, [&] { return static_cast<Served const*>(kernel)->running() ? 1 : 0; });
            },
            [](void* kernel, std::uint64_t milliseconds, ServedKernelError* error) -> std::int32_t {
                return without_throwing(error, [&] {
                    static_cast<Served*>(kernel)->drain(std::chrono::milliseconds(milliseconds));
                    return 1;
                });
            },
            [](void* kernel) { delete static_cast<Served*>(kernel); }};
}

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon::detail

// Makes a kernel with a default-constructed handler and one block per client: SharedChannels. Use
// it once in a library.
#define CARILLON_SERVED_KERNEL(Handler) CARILLON_SERVED_KERNEL_OF(carillon::SharedChannels, Handler)
// Makes a kernel whose blocks serve all clients: SharedPool.
#define CARILLON_SERVED_POOL(Handler) CARILLON_SERVED_KERNEL_OF(carillon::SharedPool, Handler)

#define CARILLON_SERVED_KERNEL_OF(Requests, Handler)                          \
    extern "C" {                                                              \
    extern __attribute__((visibility("default")))                             \
    carillon::ServedKernelLibrary const carillon_served_kernel;               \
    carillon::ServedKernelLibrary const carillon_served_kernel =              \
        carillon::detail::served_kernel_library<Requests, Handler>(#Handler); \
    }
