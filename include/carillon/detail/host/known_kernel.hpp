// SPDX-License-Identifier: Apache-2.0
// The list of kernels that nvcc has compiled into the program.
#pragma once

#include <cstdint>
#include <vector>

namespace carillon::detail {

// A kernel that nvcc has compiled into this program or a loaded library. It is made before main(),
// or by dlopen: so the library knows every kernel before the first one starts.
class KnownKernel {
   public:
    // Returns the CUfunction in the current CUDA context. Throws CudaError.
    using Function = void* (*)();

    explicit KnownKernel(Function made_of) noexcept;
    ~KnownKernel();
    KnownKernel& operator=(KnownKernel&&) = delete;

    [[nodiscard]] Function function() const { return function_; }
    // Later kernels have larger numbers.
    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] static std::vector<Function> all();
    // The number of the latest kernel.
    [[nodiscard]] static std::uint64_t last_number();

   private:
    Function function_;
    std::uint64_t number_ = 0;
    KnownKernel* before_ = nullptr;
    KnownKernel* after_ = nullptr;
};

}  // namespace carillon::detail
