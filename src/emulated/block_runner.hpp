// SPDX-License-Identifier: Apache-2.0
// How the emulated device runs a block: by one thread, unless a test uses all of the block's
// threads (carillon/testing.hpp).
#pragma once

#include <functional>
#include <memory>

#include "carillon/detail/kernel/program.hpp"

namespace carillon::detail {

// Calls `run_block(block)` in each of `threads` threads.
using BlockRunner = std::function<void(unsigned threads, unsigned block,
                                       std::function<void(unsigned)> const& run_block)>;

// For kernels that start from now on; nullptr: one thread runs a block.
void set_block_runner(std::shared_ptr<BlockRunner const> runner);

// The function that runs a block, for a program that starts now.
[[nodiscard]] std::function<void(unsigned)> block_of(Program const& program);

}  // namespace carillon::detail
