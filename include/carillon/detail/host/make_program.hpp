// SPDX-License-Identifier: Apache-2.0
// Makes a kernel of a functor: for the GPU if nvcc compiles it, and for threads of this CPU.
#pragma once

#include <memory>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/host/known_kernel.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"

#if CARILLON_DEVICE_CODE
#include <cuda_runtime_api.h>
#endif

// The compiler of this translation unit. Functions that end in a launch are in an inline namespace
// of this name, so that a .cpp and a .cu of one program do not define one function differently.
#if CARILLON_DEVICE_CODE
#define CARILLON_TOOLCHAIN with_nvcc
#else
#define CARILLON_TOOLCHAIN without_nvcc
#endif

namespace carillon::detail {

#if CARILLON_DEVICE_CODE
template <class Body>
__global__ void body_kernel(Body body) {
    body(blockIdx.x);
}

template <class Body>
__global__ void __launch_bounds__(most_threads_of<Body>) bounded_kernel(Body body) {
    body(blockIdx.x);
}

template <class Body>
void const* kernel_of() {
    if constexpr (most_threads_of<Body> != 0) {
        return reinterpret_cast<void const*>(&bounded_kernel<Body>);
    } else {
        return reinterpret_cast<void const*>(&body_kernel<Body>);
    }
}

template <class Body>
void* cuda_function() {
    cudaFunction_t function = nullptr;
    cudaError_t const result = cudaGetFuncBySymbol(&function, kernel_of<Body>());
    if (result != cudaSuccess) {
        throw CudaError("cudaGetFuncBySymbol", static_cast<int>(result), cudaGetErrorName(result));
    }
    return function;
}

template <class Body>
inline KnownKernel const known_kernel{&cuda_function<Body>};
#endif

inline namespace CARILLON_TOOLCHAIN {

template <class Body>
Program make_program(Body const& body, unsigned threads, unsigned lasting = 0) {
    auto const argument = std::make_shared<Body>(body);
    Program program;
    program.run_block = [argument](unsigned block) {
        block::emulate(block);
        Body copy = *argument;
        copy(block);
    };
    program.argument = argument;
    program.threads = threads;
    program.lasting = lasting;
#if CARILLON_DEVICE_CODE
    program.kernel = &known_kernel<Body>;
#endif
    return program;
}

}  // namespace CARILLON_TOOLCHAIN

}  // namespace carillon::detail
