// SPDX-License-Identifier: Apache-2.0
// The code that a CUDA context has loaded, and the stack of its threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <semaphore>
#include <span>

#include "carillon/detail/kernel/program.hpp"
#include "carillon/device_info.hpp"
#include "cuda/context.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

// The state of this program's kernels in a CUDA context: which are loaded, and which thread may
// load or start some.
class ProgramCode {
   public:
    // Makes a context current, for one thread at a time. Throws what ContextScope throws, and
    // TimeoutError if another one is within the driver for too long.
    class Turn {
       public:
        explicit Turn(CudaContext const& context);
        ~Turn() { code_.free_.release(); }
        Turn& operator=(Turn&&) = delete;

        // That of the context, for all who use it.
        [[nodiscard]] ProgramCode& code() const { return code_; }

       private:
        ContextScope scope_;
        ProgramCode& code_;
    };

    // With a Turn: loads every kernel of the program's modules that is not loaded yet. No kernel
    // lives in the context. Throws CudaError.
    void load();
    [[nodiscard]] bool has(KnownKernel const& kernel) const { return kernel.number() <= loaded_; }
    // The stack bytes of the largest of them.
    [[nodiscard]] std::size_t needed() const { return needed_; }

   private:
    std::binary_semaphore free_{1};
    std::uint64_t loaded_ = 0;  // the number of the last KnownKernel
    std::size_t needed_ = 0;
};

// The stack bytes of each thread of a kernel. CUDA takes memory for as many threads as can be
// resident. If a kernel needs more, CUDA enlarges it, and waits for every kernel of the context
// first. Throws CudaError.
[[nodiscard]] std::size_t stack_of(CUfunction function);

// The stack use in `context`, which is current; the caller gives `needed`. Throws CudaError.
[[nodiscard]] StackUse stack_of(CudaContext const& context, std::size_t needed);

// Gives each thread the bytes that the program asked for, or else those that its kernels use; or
// `least` if there is no memory for that. A larger stack stays. Before it takes memory that the
// program has not asked for, a line on stderr says how much. Works in the current context, in which
// no kernel lives. Throws OutOfMemoryError, CudaError.
void reserve_stack(CudaContext const& context, std::optional<std::size_t> asked_for,
                   std::size_t used, std::size_t least);

// Throws UsageError if a kernel that needs `needed` bytes would make CUDA take more memory.
void require_stack(CudaContext const& context, std::size_t needed);

// Loads every kernel of a module in the current context: the first launch of an unloaded kernel
// would wait for a persistent kernel to end. Returns the stack bytes of the largest kernel, 0 if
// the driver cannot tell. Throws CudaError.
std::size_t load_whole_module(CUmodule module);

// Loads a module, and gives the GPU's threads as much stack as its kernels use. Throws UsageError
// while a kernel lives on the device, OutOfMemoryError, CudaError.
[[nodiscard]] std::shared_ptr<LoadedCode> load_module(std::shared_ptr<Backend> backend,
                                                      std::shared_ptr<CudaContext> const& context,
                                                      std::span<std::byte const> image);

}  // namespace carillon::detail
