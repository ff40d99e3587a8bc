// SPDX-License-Identifier: Apache-2.0
// Traits of a device that the library's own code asks for.
#pragma once

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// How a device differs from others, for code that has to treat it differently. DeviceInfo has what
// can be printed. The initial values are a GPU's.
struct DeviceTraits {
    // It runs kernels that nvcc compiled, and CUDA's runtime has streams and copies for it.
    bool cuda = true;
    // Its blocks are threads on the processors of the host's threads: a thread that waits for a
    // block has to let it run.
    bool shares_processors = false;
    // One thread stands for all of a block.
    bool one_thread_a_block = false;
    // A thread of it loads a quad at once, rather than word by word with the tag first.
    bool loads_whole_quads = true;
    // Its kernels end with the process that started them, however that ends. Other kernels end
    // themselves when their host's heartbeat stops (KernelOptions::host_limit).
    bool kernels_end_with_process = false;
    // The CPU maps its memory write-combining: a store may linger, and leave in pieces.
    bool write_combining = true;
    // Memory can be freed while a kernel runs that does not use it. A GPU's driver would wait until
    // the kernel ends.
    bool frees_beside_kernels = false;
};

}  // namespace carillon
