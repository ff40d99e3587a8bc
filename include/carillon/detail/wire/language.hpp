// SPDX-License-Identifier: Apache-2.0
// Checks the compiler options that the library needs, for the first lines of each public header.
// Including a file that does not exist ends the compilation: otherwise hundreds of errors would
// follow, none of which names the reason.
#pragma once

#if __cplusplus < 202002L
#error Carillon needs C++20: compile with -std=c++20 or later
#include "carillon needs C++20"
#endif

#if !defined(__CUDACC_RTC__)
#if !defined(__cpp_exceptions)
#error Carillon needs exceptions: compile without -fno-exceptions
#include "carillon needs exceptions"
#endif

#if !defined(__x86_64__)
#error Carillon needs an x86-64 host
#include "carillon needs an x86-64 host"
#endif

#include <version>
#endif

// Marks a class through which a program reaches the library's others. If the standard library lays
// out containers or strings differently, the class has another name for the linker, so that a
// program and a library that differ do not link.
#if defined(_GLIBCXX_DEBUG)
#define CARILLON_LAYOUT [[gnu::abi_tag("compiled_with_GLIBCXX_DEBUG")]]
#elif defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#define CARILLON_LAYOUT [[gnu::abi_tag("compiled_without_CXX11_ABI")]]
#else
#define CARILLON_LAYOUT
#endif
