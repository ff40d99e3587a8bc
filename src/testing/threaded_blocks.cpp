// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "carillon/error.hpp"
#include "carillon/testing.hpp"
#include "emulated/block_runner.hpp"
#include "testing/fiber_block.hpp"

namespace carillon::testing {

ThreadedBlocks::ThreadedBlocks(std::uint64_t seed, std::size_t stack_bytes) {
    detail::set_block_runner(std::make_shared<detail::BlockRunner const>(
        [seed, stack_bytes](unsigned threads, unsigned block, auto const& run_block) {
            detail::FiberBlock("testing::ThreadedBlocks", threads, stack_bytes)
                .run(seed, block, [&] { run_block(block); });
        }));
}

ThreadedBlocks::~ThreadedBlocks() { detail::set_block_runner(nullptr); }

}  // namespace carillon::testing
