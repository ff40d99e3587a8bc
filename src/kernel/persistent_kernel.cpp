// SPDX-License-Identifier: Apache-2.0
#include "carillon/persistent_kernel.hpp"

#include <fmt/format.h>

#include <limits>

namespace carillon::detail {

unsigned channels_of(PersistentKernelOptions const& options, unsigned threads) {
    check_options("PersistentKernel", options);
    if (options.channels_per_block == 0 || options.channels_per_block > bells_per_block) {
        throw UsageError("PersistentKernel",
                         fmt::format("{} channels a block: there can be 1 to {}",
                                     options.channels_per_block, bells_per_block));
    }
    if (options.channels_per_block > 1 && (options.express || threads > 1)) {
        throw UsageError(
            "PersistentKernel",
            fmt::format("{} channels a block: a block that watches several has {}",
                        options.channels_per_block,
                        options.express ? "no express channel" : "a handler of one thread each"));
    }
    if (options.blocks > std::numeric_limits<unsigned>::max() / 2 / options.channels_per_block) {
        throw UsageError("PersistentKernel", fmt::format("{} blocks are too many", options.blocks));
    }
    return options.blocks * options.channels_per_block;
}

}  // namespace carillon::detail
