// SPDX-License-Identifier: Apache-2.0
// GPU memory that a mapper maps into the CPU.
#pragma once

#include <fmt/format.h>

#include <cstddef>

#include "carillon/error.hpp"
#include "cuda/context.hpp"

namespace carillon::detail {

// GPU memory from CUDA, in whole pages of the GPU, the unit that can be mapped into the CPU.
class CudaBuffer {
   public:
    static constexpr std::size_t page = std::size_t{1} << 16U;
    [[nodiscard]] static std::size_t whole_pages(std::size_t bytes) {
        return (bytes + page - 1) / page * page;
    }

    CudaBuffer(std::shared_ptr<CudaContext> context, std::size_t bytes)
        : context_(std::move(context)), size_(whole_pages(bytes)) {
        auto const& cuda = CudaDriver::get();
        ContextScope const scope(*context_);
        CUresult const result = cuda.cuMemAlloc(&allocated_, size_ + page);
        if (result == CUDA_ERROR_OUT_OF_MEMORY) {
            throw OutOfMemoryError(
                fmt::format("{} bytes: cuMemAlloc says "
                            "CUDA_ERROR_OUT_OF_MEMORY",
                            size_ + page));
        }
        cuda.check(result, "cuMemAlloc");
    }
    ~CudaBuffer() {
        free_in(*context_, [this] { CudaDriver::get().cuMemFree(allocated_); });
    }
    CudaBuffer(CudaBuffer const&) = delete;
    CudaBuffer& operator=(CudaBuffer const&) = delete;

    [[nodiscard]] CudaContext const& context() const { return *context_; }
    [[nodiscard]] CUdeviceptr address() const { return (allocated_ + page - 1) / page * page; }
    [[nodiscard]] std::size_t size() const { return size_; }

   private:
    std::shared_ptr<CudaContext> context_;
    std::size_t size_;
    CUdeviceptr allocated_ = 0;
};

}  // namespace carillon::detail
