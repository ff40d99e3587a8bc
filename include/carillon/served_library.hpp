// SPDX-License-Identifier: Apache-2.0
// The interface between `carillon serve` and a shared library with a kernel (served_kernel.hpp).
//
// The command and the library each have their own Carillon, perhaps of another version and
// compiler. Therefore they exchange only plain data, and check its version before any call.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

inline constexpr std::uint64_t served_kernel_magic = 0x4b53'4c49'5241'43ULL;  // "CARILSK"
inline constexpr std::uint32_t served_kernel_version = 2;

struct ServedKernelOptions {
    char const* path;    // the path of the socket
    char const* name;    // the name that clients ask for
    char const* device;  // a selector, as Device::open takes
    std::uint32_t blocks;
    std::uint32_t capacity;
    std::uint32_t mode;  // permissions of the socket
    std::uint32_t users_count;
    std::uint32_t const* users;
    std::uint32_t const* groups;
    std::uint32_t groups_count;
    std::uint32_t idle;     // 0: the device's default; 1 spin, 2 backoff, 3 park: IdlePolicy
    std::uint32_t clients;  // a pool's SharedPool::clients, or 0 for its default; otherwise 0
};

struct ServedKernelFacts {
    char device[256];
    std::uint32_t blocks;
    std::uint32_t emulated;  // 1 or 0
    std::uint32_t clients;   // at the same time
};

struct ServedKernelError {
    char text[512];
    std::uint32_t usage;  // 1: the options are wrong (UsageError)
};

// The library's object carillon_served_kernel. No function throws. A function that returns nullptr
// or 0 for a failure has set the error.
struct ServedKernelLibrary {
    std::uint64_t magic;
    std::uint32_t version;  // the version of the members that follow
    std::uint32_t bytes;    // sizeof(ServedKernelLibrary)
    char const* handler;    // its name
    // Starts the kernel and serves it. Pass the result to the other functions; `end` destroys it.
    void* (*start)(ServedKernelOptions const* options, ServedKernelFacts* facts,
                   ServedKernelError* error);
    std::int32_t (*running)(void* kernel, ServedKernelError* error);
    // Waits at most `milliseconds` until all accepted requests are answered. Returns 0 if some are
    // not.
    std::int32_t (*drain)(void* kernel, std::uint64_t milliseconds, ServedKernelError* error);
    void (*end)(void* kernel);
};

}  // namespace carillon
