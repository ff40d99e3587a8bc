// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace carillon::test {

// From now on this process has a CUDA driver with one GPU.
void load_cuda_stand_in();

// Set the bytes of stack that each kernel launched from now on uses, that the other kernels of its
// module use, and that the threads have. A launch that needs more waits until no kernel runs, as it
// does with CUDA.
void set_kernel_stack(int bytes);
void set_module_stack(int bytes);
void set_stand_in_stack_limit(std::size_t bytes);
[[nodiscard]] std::size_t stand_in_stack_limit();
// The next launch waits until no kernel runs, for a reason that the library cannot foresee.
void let_next_launch_wait();
// Using it from now on ends the process, as it may with CUDA.
void destroy_stand_in_context();

}  // namespace carillon::test
