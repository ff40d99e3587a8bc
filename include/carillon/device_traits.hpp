// SPDX-License-Identifier: Apache-2.0
// What the library's own code asks of a device.
#pragma once

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// How a device differs from others, for code that has to go about it otherwise. What is there to be
// printed is in DeviceInfo. The initial values are a GPU's.
struct DeviceTraits {
    // It runs what nvcc made of a kernel, and CUDA's runtime has it too: its streams and copies.
    bool cuda = true;
    // Its blocks are threads on the processors that the host's threads run on: whoever waits for
    // them has to let them run.
    bool shares_processors = false;
    // One thread stands for all of a block.
    bool one_thread_a_block = false;
    // A thread of it loads a quad at once, and not word by word, the one with the tag first.
    bool loads_whole_quads = true;
    // Its kernels end with the process that started them, however that ends. Others end themselves
    // when they hear nothing of their host (KernelOptions::host_limit).
    bool kernels_end_with_process = false;
    // Its memory is mapped write-combining into the CPU: a store may linger, and leave in pieces.
    bool write_combining = true;
    // Memory can be freed while a kernel runs that does not use it. A GPU's driver would wait for
    // the kernel's end.
    bool frees_beside_kernels = false;
};

}  // namespace carillon
