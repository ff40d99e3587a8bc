// SPDX-License-Identifier: Apache-2.0
// Functions for a block's threads, in handlers and kernel bodies. On the emulated device one thread
// stands for the whole block, unless a test runs every thread (testing.hpp).
#pragma once

#include <cstddef>
#include <type_traits>

#include "carillon/detail/machine/tested_block.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon {
using detail::CodeLocation;
}  // namespace carillon

namespace carillon::block {

#if !defined(__CUDA_ARCH__)
namespace detail {
inline constinit thread_local unsigned emulated_index = 0;
// Returns the memory of the calling thread's block for `name`, the same in each call while the
// thread lives. Its initial bytes are arbitrary, as on a GPU. Throws std::bad_alloc.
[[nodiscard]] void* shared_memory(void const* name, std::size_t bytes, std::size_t alignment);
// This variable's address is the name.
template <class T, class Name>
inline char name_of_shared = 0;
}  // namespace detail
#endif

// Makes the calling thread block `index` of the emulated device from now on.
inline void emulate(unsigned index) {
#if !defined(__CUDA_ARCH__)
    // The runner of a tested block has set the index for all threads of the block.
    if (carillon::detail::tested_block == nullptr) detail::emulated_index = index;
#else
    (void)index;
#endif
}

// The number of the calling thread's block in its launch, from 0.
[[nodiscard]] CARILLON_HD inline unsigned index() {
#if defined(__CUDA_ARCH__)
    return blockIdx.x;
#else
    return detail::emulated_index;
#endif
}

// The number of the calling thread in its block, from 0; and the number of the block's threads.
[[nodiscard]] CARILLON_HD inline unsigned thread_rank() {
#if defined(__CUDA_ARCH__)
    return threadIdx.x;
#else
    auto const* const tested = carillon::detail::tested_block;
    return tested == nullptr ? 0 : tested->thread_rank();
#endif
}
[[nodiscard]] CARILLON_HD inline unsigned size() {
#if defined(__CUDA_ARCH__)
    return blockDim.x;
#else
    auto const* const tested = carillon::detail::tested_block;
    return tested == nullptr ? 1 : tested->size();
#endif
}

// Waits until every thread of the block has called it. Then each thread sees what the others wrote
// before. All threads must use the same call; a test cannot tell two calls on one line apart
// (testing.hpp).
CARILLON_HD inline void sync(CodeLocation const& where = CodeLocation::current()) {
#if defined(__CUDA_ARCH__)
    (void)where;
    __syncthreads();
#else
    if (carillon::detail::tested_block != nullptr) carillon::detail::tested_block->sync(where);
#endif
}

// Bytes of shared memory that every GPU gives a block by default.
inline constexpr std::size_t most_shared_bytes = std::size_t{48} * 1024;

// Returns the block's T called `Name`, which all its threads share: shared<Sums, struct Left>().
// Calls with the same T and Name return the same object; a struct first named within a function is
// local to that function. The object lives as long as the kernel. Its initial value is unspecified:
// let one thread write it and call sync() before the others read it.
template <class T, class Name>
[[nodiscard]] CARILLON_HD T& shared() {
    static_assert(
        std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
        "carillon: no constructor makes a shared object: assign to it");
    static_assert(sizeof(T) <= most_shared_bytes,
                  "carillon: a block has at most 48 KiB of shared memory");
#if defined(__CUDA_ARCH__)
    __shared__ T value;
    return value;
#else
    void const* const name = &detail::name_of_shared<T, Name>;
    auto* const tested = carillon::detail::tested_block;
    return *static_cast<T*>(tested == nullptr ? detail::shared_memory(name, sizeof(T), alignof(T))
                                              : tested->shared(name, sizeof(T), alignof(T)));
#endif
}

// Storage for a T in shared memory, where no constructor runs.
template <class T>
struct Room {
    alignas(T) unsigned char bytes[sizeof(T)];

    [[nodiscard]] CARILLON_HD T& object() { return *reinterpret_cast<T*>(bytes); }
};

// Never compiles: on a GPU all calls would share one object.
template <class T>
T& shared(T& own) {
    static_assert(sizeof(T) == 0,
                  "carillon: a shared object needs its own name: shared<T, struct Name>()");
    return own;
}

}  // namespace carillon::block

namespace carillon {

// All threads of a block as a group (detail/machine/group.hpp).
struct BlockThreads {
    [[nodiscard]] CARILLON_HD static unsigned thread_rank() { return block::thread_rank(); }
    [[nodiscard]] CARILLON_HD static unsigned size() { return block::size(); }
    CARILLON_HD static void sync(CodeLocation const& where = CodeLocation::current()) {
        block::sync(where);
    }
    template <class Name, class Shared>
    [[nodiscard]] CARILLON_HD static Shared& shared(Shared& /*own*/) {
        return block::shared<block::Room<Shared>, Name>().object();
    }
};

}  // namespace carillon
