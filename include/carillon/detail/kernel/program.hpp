// SPDX-License-Identifier: Apache-2.0
// A kernel that a device can launch: a block's code, and the number of threads.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace carillon::detail {

// A kernel that nvcc has compiled into this program or a loaded library. It is constructed before
// main(), or by dlopen, so the library knows every kernel before the first one starts.
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

// A kernel in the two forms for a GPU and for the emulated device. make_program makes it.
struct Program {
    // Runs one block on the calling thread, for the emulated device.
    std::function<void(unsigned block)> run_block;
    // The kernel for a GPU; nullptr in a program compiled without nvcc.
    KnownKernel const* kernel = nullptr;
    // In place of `kernel`, if loaded at run time: the CUfunction, and an object that keeps it
    // loaded.
    void* loaded = nullptr;
    std::shared_ptr<void> code = nullptr;
    // The kernel's single parameter. A launch that hangs may read it later.
    std::shared_ptr<void> argument = nullptr;
    // Threads per block on a GPU; on the emulated device one thread stands for them all.
    unsigned threads = 1;
    // The number of blocks that stay resident while the kernel lives; 0: all.
    unsigned lasting = 0;
    // Timeout of the launch.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
};

}  // namespace carillon::detail
