// SPDX-License-Identifier: Apache-2.0
// Makes a kernel for `carillon serve --library FILE`: a shared library of one source,
//
//   #include <carillon/served_kernel.hpp>
//   CARILLON_SERVED_KERNEL(MyHandler)   // or CARILLON_SERVED_POOL
//
// which is linked with Carillon like any program (docs/ipc.md).
#pragma once

#include "carillon/detail/serving/served_handler.hpp"
#include "carillon/served_library.hpp"

// For a default-constructed handler, with one block for each client: SharedChannels. Use it once in
// a library.
#define CARILLON_SERVED_KERNEL(Handler) CARILLON_SERVED_KERNEL_OF(carillon::SharedChannels, Handler)
// All blocks serve all clients: SharedPool.
#define CARILLON_SERVED_POOL(Handler) CARILLON_SERVED_KERNEL_OF(carillon::SharedPool, Handler)

#define CARILLON_SERVED_KERNEL_OF(Requests, Handler)                          \
    extern "C" {                                                              \
    extern __attribute__((visibility("default")))                             \
    carillon::ServedKernelLibrary const carillon_served_kernel;               \
    carillon::ServedKernelLibrary const carillon_served_kernel =              \
        carillon::detail::served_kernel_library<Requests, Handler>(#Handler); \
    }
