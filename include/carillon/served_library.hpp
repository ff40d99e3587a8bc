// SPDX-License-Identifier: Apache-2.0
// What a shared library with a kernel and `carillon serve` say to each other (served_kernel.hpp).
//
// The command and the library each have a Carillon of their own, of whatever version and compiler:
// between them go plain data alone, whose version is looked at before anything is called.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

inline constexpr std::uint64_t served_kernel_magic = 0x4b53'4c49'5241'43ULL;  // "CARILSK"
inline constexpr std::uint32_t served_kernel_version = 2;

struct ServedKernelOptions {
    char const* path;    // of the socket
    char const* name;    // that clients ask for
    char const* device;  // a selector, as Device::open takes
    std::uint32_t blocks;
    std::uint32_t capacity;
    std::uint32_t mode;  // permissions of the socket
    std::uint32_t users_count;
    std::uint32_t const* users;
    std::uint32_t const* groups;
    std::uint32_t groups_count;
    std::uint32_t idle;     // 0: what suits the device; 1 spin, 2 backoff, 3 park: IdlePolicy
    std::uint32_t clients;  // of a pool: SharedPool::clients, or 0: its default. Else 0
};

struct ServedKernelFacts {
    char device[256];
    std::uint32_t blocks;
    std::uint32_t emulated;  // or 0
    std::uint32_t clients;   // at a time
};

struct ServedKernelError {
    char text[512];
    std::uint32_t usage;  // 1: what was asked for makes no sense, a UsageError
};

// What the library has under the name carillon_served_kernel. No function throws; those that give
// nullptr or 0 for a failure have said why.
struct ServedKernelLibrary {
    std::uint64_t magic;
    std::uint32_t version;  // of all that follows
    std::uint32_t bytes;    // sizeof(ServedKernelLibrary)
    char const* handler;    // its name
    // Starts the kernel and serves it; what it gives goes to the others, the last one ends it.
    void* (*start)(ServedKernelOptions const* options, ServedKernelFacts* facts,
                   ServedKernelError* error);
    std::int32_t (*running)(void* kernel, ServedKernelError* error);
    // Waits for at most so long until all that was accepted is answered. 0 if some is not.
    std::int32_t (*drain)(void* kernel, std::uint64_t milliseconds, ServedKernelError* error);
    void (*end)(void* kernel);
};

}  // namespace carillon
