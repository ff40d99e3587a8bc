// SPDX-License-Identifier: Apache-2.0
#include "carillon/device_info.hpp"

#include <array>

namespace carillon {

std::string_view to_string(DataOrder order) {
    return order == DataOrder::fence ? "fence" : "read-back";
}

std::string_view to_string(MemorySource source) {
    static constexpr std::array<std::string_view, 6> names{"",        "vulkan", "dma-buf",
                                                           "gdrcopy", "host",   "memfd"};
    return names.at(static_cast<std::size_t>(source));
}

}  // namespace carillon
