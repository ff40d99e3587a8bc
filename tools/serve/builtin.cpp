// SPDX-License-Identifier: Apache-2.0
#include <carillon/served_kernel.hpp>

#include "kernels/serve.hpp"
#include "serve/serve.hpp"

namespace carillon::tool {

ServedKernelLibrary const* builtin_kernel(std::string_view name) {
    static constexpr ServedKernelLibrary echo =
        detail::served_kernel_library<kernels::ServedEcho>("echo");
    static constexpr ServedKernelLibrary count =
        detail::served_kernel_library<kernels::ServedCounting>("count");
    return name == "echo" ? &echo : name == "count" ? &count : nullptr;
}

}  // namespace carillon::tool
