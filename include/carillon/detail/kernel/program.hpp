// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "carillon/detail/wire/language.hpp"

#if !defined(__CUDACC_RTC__)
#include <functional>
#include <memory>
#endif

namespace carillon::detail {

#if !defined(__CUDACC_RTC__)
// A kernel in the two forms that a device may need. Made by make_program.
struct Program {
    // Runs one block on the calling thread: the emulated device.
    std::function<void(unsigned block)> run_block;
    // The CUfunction in the current CUDA context, or nullptr in a program that was compiled
    // without nvcc. Throws CudaError.
    void* (*cuda_function)() = nullptr;
    // In its place, of a kernel that was loaded while the program runs: the CUfunction, and what is
    // to be kept for as long as it runs.
    void* loaded = nullptr;
    std::shared_ptr<void> code = nullptr;
    // Points at the kernel's single parameter.
    void* argument = nullptr;
    // Threads of a block on a GPU; on the emulated device one thread stands for them all.
    unsigned threads = 1;
    // How many blocks are resident for as long as the kernel lives; 0 for all of them.
    unsigned lasting = 0;
};
#endif

// How many threads of a block a body is compiled for: each then has no more registers than so many
// leave it. 0: it is not said, and the compiler takes what it likes.
template <class Body>
inline constexpr unsigned most_threads_of = 0;

}  // namespace carillon::detail
