// SPDX-License-Identifier: Apache-2.0
#include "cuda/thread_stack.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

constexpr char const* stack_variable = "CARILLON_STACK_BYTES";

std::string gigabytes(std::uint64_t bytes) {
    return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

CUresult set_stack(std::size_t bytes) {
    return CudaDriver::get().cuCtxSetLimit(CU_LIMIT_STACK_SIZE, bytes);
}

void say_what_it_takes(CudaContext const& context, StackUse const& use) {
    say_line(
        fmt::format("carillon: {} bytes of stack are reserved for each of {} threads of {} "
                    "instead of {}, {} of its memory: so many does the largest kernel of "
                    "this program use, unless DeviceOptions::stack_bytes or {} says so",
                    use.needed, use.threads, uuid_text(context.uuid()), use.limit,
                    gigabytes(use.bytes()), stack_variable));
}

}  // namespace

std::size_t stack_of(CUfunction function) {
    auto const& cuda = CudaDriver::get();
    int bytes = 0;
    cuda.check(cuda.cuFuncGetAttribute(&bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES, function),
               "cuFuncGetAttribute");
    return static_cast<std::size_t>(bytes);
}

StackUse stack_of(CudaContext const& context, std::size_t needed) {
    auto const& cuda = CudaDriver::get();
    StackUse use;
    use.needed = needed;
    cuda.check(cuda.cuCtxGetLimit(&use.limit, CU_LIMIT_STACK_SIZE), "cuCtxGetLimit");
    use.threads =
        static_cast<std::uint64_t>(context.attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)) *
        static_cast<unsigned>(
            context.attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR));
    return use;
}

void reserve_stack(CudaContext const& context, std::size_t wanted, std::size_t least) {
    auto const& cuda = CudaDriver::get();
    StackUse use = stack_of(context, std::max(wanted, least));
    if (use.needed <= use.limit) return;
    say_what_it_takes(context, use);
    CUresult result = set_stack(use.needed);
    if (result == CUDA_ERROR_OUT_OF_MEMORY && least < use.needed) {
        use.needed = least;
        result = least <= use.limit ? CUDA_SUCCESS : set_stack(least);
    }
    if (result == CUDA_ERROR_OUT_OF_MEMORY) {
        throw OutOfMemoryError(
            fmt::format("a kernel needs {} bytes of stack for each of {} "
                        "threads, {}: cuCtxSetLimit says "
                        "CUDA_ERROR_OUT_OF_MEMORY",
                        use.needed, use.threads, gigabytes(use.bytes())));
    }
    cuda.check(result, "cuCtxSetLimit");
}

void require_stack(CudaContext const& context, std::size_t needed) {
    StackUse const use = stack_of(context, needed);
    if (use.needed <= use.limit) return;
    throw UsageError(
        fmt::format("the kernel needs {} bytes of stack, the threads of this GPU have {}, and "
                    "CUDA gives them more only while no kernel lives: reserve {} bytes before "
                    "the first kernel starts (DeviceOptions::stack_bytes, or {} in the "
                    "environment; {} of the GPU's memory), or start this kernel first",
                    use.needed, use.limit, use.needed, stack_variable, gigabytes(use.bytes())));
}

}  // namespace carillon::detail
