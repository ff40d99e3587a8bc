// SPDX-License-Identifier: Apache-2.0
#include "carillon/kernel_state.hpp"

#include <array>

namespace carillon {

std::string_view to_string(KernelState state) {
    static constexpr std::array<std::string_view, 5> names{"starting", "running", "draining",
                                                           "stopped", "failed"};
    return names.at(static_cast<std::size_t>(state));
}

std::string_view to_string(BlockActivity activity) {
    static constexpr std::array<std::string_view, 4> names{"idle", "busy", "stuck", "ended"};
    return names.at(static_cast<std::size_t>(activity));
}

}  // namespace carillon
