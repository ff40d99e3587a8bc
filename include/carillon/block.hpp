// SPDX-License-Identifier: Apache-2.0
// The threads of a block as code that they run together sees them. On the emulated device one
// thread stands for them all.
#pragma once

#include "carillon/detail/wire/config.hpp"

namespace carillon::block {

#if !defined(__CUDA_ARCH__)
namespace detail {
inline constinit thread_local unsigned emulated_index = 0;
}
#endif

// The calling thread is now this block of the emulated device.
inline void emulate(unsigned index) {
#if !defined(__CUDA_ARCH__)
    detail::emulated_index = index;
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

// The number of the calling thread, from 0, and how many there are.
[[nodiscard]] CARILLON_HD inline unsigned thread_rank() {
#if defined(__CUDA_ARCH__)
    return threadIdx.x;
#else
    return 0;
#endif
}
[[nodiscard]] CARILLON_HD inline unsigned size() {
#if defined(__CUDA_ARCH__)
    return blockDim.x;
#else
    return 1;
#endif
}

// Every thread of the block has arrived here, and what each wrote before is visible to all.
CARILLON_HD inline void sync() {
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
}

// A T that all threads of the block see. One of them writes it, and a sync() comes between. `own`
// takes its place where one thread is the block. One for each type.
template <class T>
[[nodiscard]] CARILLON_HD T& shared(T& own) {
#if defined(__CUDA_ARCH__)
    __shared__ T value;
    return value;
#else
    return own;
#endif
}

}  // namespace carillon::block

namespace carillon {

// All threads of a block as a group (detail/machine/group.hpp).
struct BlockThreads {
    [[nodiscard]] CARILLON_HD static unsigned thread_rank() { return block::thread_rank(); }
    [[nodiscard]] CARILLON_HD static unsigned size() { return block::size(); }
    CARILLON_HD static void sync() { block::sync(); }
    template <class Shared>
    [[nodiscard]] CARILLON_HD static Shared& shared(Shared& own) {
        return block::shared(own);
    }
};

}  // namespace carillon
