// SPDX-License-Identifier: Apache-2.0
#include "carillon/persistent_kernel.hpp"

#include <fmt/format.h>

#include <limits>

namespace carillon::detail {

unsigned channels_of(PersistentKernelOptions const& options) {
    if (options.channels_per_block == 0 || options.channels_per_block > bells_per_block) {
        throw UsageError("PersistentKernel",
                         fmt::format("{} channels a block: there can be 1 to {}",
                                     options.channels_per_block, bells_per_block));
    }
    if (options.blocks > std::numeric_limits<unsigned>::max() / options.channels_per_block) {
        throw UsageError("PersistentKernel", fmt::format("{} blocks are too many", options.blocks));
    }
    return options.blocks * options.channels_per_block;
}

}  // namespace carillon::detail
