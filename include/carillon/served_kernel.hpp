// SPDX-License-Identifier: Apache-2.0
// A kernel of one's own for `carillon serve --library FILE`: in a shared library of one source,
//
//   #include <carillon/served_kernel.hpp>
//   CARILLON_SERVED_KERNEL(MyHandler)
//
// which is linked with Carillon as any program (docs/ipc.md).
#pragma once

#include "carillon/detail/host/served_kernel.hpp"
#include "carillon/served_library.hpp"

// For a handler with SharedChannels, default-constructed; once in a library.
#define CARILLON_SERVED_KERNEL(Handler)                             \
    extern "C" {                                                    \
    extern __attribute__((visibility("default")))                   \
    carillon::ServedKernelLibrary const carillon_served_kernel;     \
    carillon::ServedKernelLibrary const carillon_served_kernel =    \
        carillon::detail::served_kernel_library<Handler>(#Handler); \
    }
