// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <memory>

#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"
#include "carillon/testing.hpp"
#include "emulated/block_runner.hpp"
#include "testing/fiber_block.hpp"

namespace carillon::testing {
namespace {

constexpr char const* class_name = "testing::ThreadedBlocks";
std::atomic<bool> is_there{false};

}  // namespace

ThreadedBlocks::ThreadedBlocks(std::uint64_t seed, std::size_t stack_bytes) try {
    detail::require_stack(stack_bytes);
    auto runner = std::make_shared<detail::BlockRunner const>(
        [seed, stack_bytes](unsigned threads, unsigned block, auto const& run_block) {
            detail::in_call(class_name, [&] {
                detail::FiberBlock(threads, stack_bytes).run(seed, block, [&] {
                    run_block(block);
                });
            });
        });
    if (is_there.exchange(true)) {
        throw UsageError("there is another one: it would decide how kernels run no more");
    }
    detail::set_block_runner(std::move(runner));
} catch (...) {
    detail::throw_named(class_name);
}

ThreadedBlocks::~ThreadedBlocks() {
    detail::set_block_runner(nullptr);
    is_there = false;
}

}  // namespace carillon::testing
