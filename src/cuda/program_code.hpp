// SPDX-License-Identifier: Apache-2.0
// The kernels of the program that a CUDA context has loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <semaphore>

#include "carillon/detail/host/known_kernel.hpp"
#include "cuda/context.hpp"

namespace carillon::detail {

// The state of this program's kernels in a CUDA context: which are loaded, and which thread may
// load or start some.
class ProgramCode {
   public:
    // The state of a context, for all who use it. It is never destroyed.
    [[nodiscard]] static ProgramCode& of(CudaContext const& context);

    // One thread at a time. Throws TimeoutError if another one is within the driver for too long.
    class Turn {
       public:
        explicit Turn(ProgramCode& code);
        ~Turn() { code_.free_.release(); }
        Turn(Turn const&) = delete;
        Turn& operator=(Turn const&) = delete;

       private:
        ProgramCode& code_;
    };

    // With a Turn, and the context current: loads every kernel of the program's modules that is not
    // loaded yet. No kernel lives in the context. Throws CudaError.
    void load();
    [[nodiscard]] bool has(KnownKernel const& kernel) const { return kernel.number() <= loaded_; }
    // The stack bytes of the largest of them.
    [[nodiscard]] std::size_t needed() const { return needed_; }

   private:
    std::binary_semaphore free_{1};
    std::uint64_t loaded_ = 0;  // the number of the last KnownKernel
    std::size_t needed_ = 0;
};

}  // namespace carillon::detail
