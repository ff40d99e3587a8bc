// SPDX-License-Identifier: Apache-2.0
// Macros with which a C++ compiler and nvcc compile the same source, a check of the functions that
// a GPU calls, and the place of a call.
#pragma once

#include "carillon/detail/wire/language.hpp"

// Between CARILLON_BEGIN_POLICY_CODE and CARILLON_END_POLICY_CODE, CARILLON_HD functions call
// access policies. A policy decides on which side its instantiations can run, so nvcc must not warn
// of the other side. CARILLON_POLICY_CODE does this for one function.
//
// CARILLON_DEVICE_CODE is 1 if nvcc compiles: only then can a GPU's kernel be instantiated.
#if defined(__CUDACC__)
#define CARILLON_HD __host__ __device__
#define CARILLON_POLICY_CODE _Pragma("nv_exec_check_disable")
#define CARILLON_BEGIN_POLICY_CODE \
    _Pragma("nv_diagnostic push") _Pragma("nv_diag_suppress 20011,20013,20014,20015")
#define CARILLON_END_POLICY_CODE _Pragma("nv_diagnostic pop")
#define CARILLON_DEVICE_CODE 1
#else
#define CARILLON_HD
#define CARILLON_POLICY_CODE
#define CARILLON_BEGIN_POLICY_CODE
#define CARILLON_END_POLICY_CODE
#define CARILLON_DEVICE_CODE 0
#endif

// SELDOM goes before a loop that rarely runs: a GPU's compiler must not lengthen a kernel by
// unrolling it. UNROLL goes before a loop over data that belong in registers: unrolled late, it
// leaves the data in local memory.
#if defined(__CUDA_ARCH__)
#define CARILLON_SELDOM _Pragma("unroll 1")
#define CARILLON_UNROLL _Pragma("unroll")
#else
#define CARILLON_SELDOM
#define CARILLON_UNROLL
#endif

// Begins the declaration of a function that is inlined into every caller. NVRTC knows no GNU
// attributes.
#if defined(__CUDACC_RTC__)
#define CARILLON_ALWAYS_INLINE __forceinline__
#else
#define CARILLON_ALWAYS_INLINE [[gnu::always_inline]] inline
#endif

// Sanitizers: GCC defines a macro for each, clang has features.
#if defined(__has_feature)
#define CARILLON_HAS_FEATURE(name) __has_feature(name)
#else
#define CARILLON_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || CARILLON_HAS_FEATURE(thread_sanitizer)
#define CARILLON_THREAD_SANITIZER 1
#else
#define CARILLON_THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || CARILLON_HAS_FEATURE(address_sanitizer)
#define CARILLON_ADDRESS_SANITIZER 1
#else
#define CARILLON_ADDRESS_SANITIZER 0
#endif

namespace carillon::detail {

#if defined(__CUDA_ARCH__)
// The compiler names this function if `functor` can only be called on the host.
template <class Result, class Functor, class... Argument>
__device__ Result functor_needs_CARILLON_HD(Functor& functor, Argument... argument) {
    return static_cast<Result>(functor(static_cast<Argument&&>(argument)...));
}
#endif

// Rejects, for the GPU, a functor that can only be called on the host: the library calls `functor`
// with an Argument and takes a Result. This function does nothing. The library's calls are in
// functions of both sides: there nvcc only warns, and is silent if the library's headers are system
// headers. In a function of the device alone such a call is an error.
template <class Result, class... Argument, class Functor>
CARILLON_HD void check_device_call([[maybe_unused]] Functor& functor) {
#if defined(__CUDA_ARCH__)
    if (false) (void)&functor_needs_CARILLON_HD<Result, Functor, Argument...>;
#endif
}

// The place of a call in the program; a default argument gets the place of the call that omits it.
// The library's own calls name their file themselves, because nvcc's default is the path on the
// machine that compiles, which would end up in installed files.
struct CodeLocation {
    char const* file;
    int line;

    // The place of a call in another language.
    [[nodiscard]] static constexpr CodeLocation elsewhere() { return {"", 0}; }
    // The place of the calling expression.
    [[nodiscard]] CARILLON_HD static constexpr CodeLocation current(
        char const* file = __builtin_FILE(), int line = __builtin_LINE()) {
        return {file, line};
    }
};

}  // namespace carillon::detail
