// SPDX-License-Identifier: Apache-2.0
// `DeviceTraits`: differences between devices that the library's code asks for.
#pragma once

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// Differences between devices, for code that must treat them differently; DeviceInfo is for
// printing. The initial values are a GPU's.
struct DeviceTraits {
    // The device runs kernels that nvcc compiled, and has CUDA's streams and copies.
    bool cuda = true;
    // Its blocks share processors with the host's threads: a thread that waits must let them run.
    bool shares_processors = false;
    // One thread stands for the whole block.
    bool one_thread_a_block = false;
    // Its threads load a quad at once, rather than word by word with the tag first.
    bool loads_whole_quads = true;
    // Its kernels end with the process that started them, however the process ends. Other kernels
    // end themselves when their host's heartbeat stops (KernelOptions::host_limit).
    bool kernels_end_with_process = false;
    // The CPU maps its memory write-combining: a store may linger, and leave in pieces.
    bool write_combining = true;
    // Unused memory can be freed while kernels run. A GPU's driver would wait for their end.
    bool frees_beside_kernels = false;
};

}  // namespace carillon
