// SPDX-License-Identifier: Apache-2.0
#include <carillon/served_kernel.hpp>

#include "kernels/serve_kernels.hpp"
#include "serve/running_served.hpp"

namespace carillon::tool {

ServedKernelLibrary const* builtin_kernel(std::string_view name, BuiltinKind kind) {
    using kernels::ServedCounting;
    using kernels::ServedEcho;
    static constexpr ServedKernelLibrary echo =
        detail::served_kernel_library<SharedChannels, ServedEcho>("echo");
    static constexpr ServedKernelLibrary count =
        detail::served_kernel_library<SharedChannels, ServedCounting>("count");
    static constexpr ServedKernelLibrary echo_pool =
        detail::served_kernel_library<SharedPool, ServedEcho>("echo");
    static constexpr ServedKernelLibrary count_pool =
        detail::served_kernel_library<SharedPool, ServedCounting>("count");
    bool const pool = kind == BuiltinKind::pool;
    if (name == "echo") return pool ? &echo_pool : &echo;
    if (name == "count") return pool ? &count_pool : &count;
    return nullptr;
}

}  // namespace carillon::tool
