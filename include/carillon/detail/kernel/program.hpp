// SPDX-License-Identifier: Apache-2.0
// A kernel as a device gets it: what a block runs, and how many threads it has.
#pragma once

#include "carillon/detail/wire/language.hpp"

#if !defined(__CUDACC_RTC__)
#include <chrono>
#include <functional>
#include <memory>
#endif

namespace carillon::detail {

#if !defined(__CUDACC_RTC__)
class KnownKernel;

// A kernel in the two forms that a device may need. Made by make_program.
struct Program {
    // Runs one block on the calling thread: the emulated device.
    std::function<void(unsigned block)> run_block;
    // The kernel for a GPU; nullptr in a program that was compiled without nvcc.
    KnownKernel const* kernel = nullptr;
    // In its place, of a kernel that was loaded while the program runs: the CUfunction, and what is
    // to be kept for as long as it runs.
    void* loaded = nullptr;
    std::shared_ptr<void> code = nullptr;
    // The kernel's single parameter. A launch that does not come back may read it later.
    std::shared_ptr<void> argument = nullptr;
    // Threads of a block on a GPU; on the emulated device one thread stands for them all.
    unsigned threads = 1;
    // How many blocks are resident for as long as the kernel lives; 0 for all of them.
    unsigned lasting = 0;
    // How long the launch may take.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
};
#endif

// How many threads of a block a body is compiled for: each then has no more registers than so many
// leave it. 0: it is not said, and the compiler takes what it likes.
template <class Body>
inline constexpr unsigned most_threads_of = 0;

}  // namespace carillon::detail
