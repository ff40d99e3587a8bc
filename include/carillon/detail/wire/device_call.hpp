// SPDX-License-Identifier: Apache-2.0
// Checks that a user's functor that a GPU calls is CARILLON_HD.
#pragma once

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

#if defined(__CUDA_ARCH__)
// The compiler names this function if `functor` is for the host alone.
template <class Result, class Functor, class... Argument>
__device__ Result functor_needs_CARILLON_HD(Functor& functor, Argument... argument) {
    return static_cast<Result>(functor(static_cast<Argument&&>(argument)...));
}
#endif

// Refuses, for the GPU, a functor that is for the host alone: the library calls `functor` with an
// Argument and takes a Result. This function does nothing. The library's calls are in functions of
// both sides: there nvcc only warns, and is silent if the library's headers are system headers. In
// a function of the device alone such a call is an error.
template <class Result, class... Argument, class Functor>
CARILLON_HD void check_device_call([[maybe_unused]] Functor& functor) {
#if defined(__CUDA_ARCH__)
    if (false) (void)&functor_needs_CARILLON_HD<Result, Functor, Argument...>;
#endif
}

}  // namespace carillon::detail
