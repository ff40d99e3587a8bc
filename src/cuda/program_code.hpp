// SPDX-License-Identifier: Apache-2.0
// Which kernels of the program a CUDA context has loaded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <semaphore>

#include "carillon/detail/host/known_kernel.hpp"
#include "cuda/context.hpp"

namespace carillon::detail {

// What a CUDA context has loaded of the kernels of this program, and whose turn it is to load or to
// start some there.
class ProgramCode {
   public:
    // That of a context, for all who use it. It is never destroyed.
    [[nodiscard]] static ProgramCode& of(CudaContext const& context);

    // One thread at a time. Throws TimeoutError where another one is within the driver for so long.
    class Turn {
       public:
        explicit Turn(ProgramCode& code);
        ~Turn() { code_.free_.release(); }
        Turn(Turn const&) = delete;
        Turn& operator=(Turn const&) = delete;

       private:
        ProgramCode& code_;
    };

    // With a Turn, and the context current. Loads every kernel of the program's modules that is not
    // loaded yet: no kernel lives in the context. Throws CudaError.
    void load();
    [[nodiscard]] bool has(KnownKernel const& kernel) const { return kernel.number() <= loaded_; }
    // How many bytes of stack the largest of them uses.
    [[nodiscard]] std::size_t needed() const { return needed_; }

   private:
    std::binary_semaphore free_{1};
    std::uint64_t loaded_ = 0;  // the number of the last KnownKernel
    std::size_t needed_ = 0;
};

}  // namespace carillon::detail
