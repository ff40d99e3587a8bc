// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>

#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"
#include "carillon/testing.hpp"
#include "emulated/emulated_backend.hpp"
#include "testing/fiber_block.hpp"

namespace carillon {

testing::BlockError::BlockError(std::uint64_t seed, std::string_view cause)
    : Error(cause), seed_(seed) {}

namespace detail {

void run_threads(testing::BlockOptions const& options, std::function<void()> const& each_thread,
                 std::function<void(std::uint64_t seed)> const& after) {
    FiberBlock block(options.threads, options.stack_bytes);
    if (options.seeds == 0)
        throw UsageError("BlockOptions::seeds is 0: the test would run nothing");
    for (std::uint64_t i = 0; i != options.seeds; ++i) {
        block.run(options.first_seed + i, options.block, each_thread);
        if (after) after(options.first_seed + i);
    }
}

void finish_request() { tested_block->sync({nullptr, 0}); }

void report_race(testing::BlockOptions const& options, std::uint64_t seed, std::size_t request,
                 unsigned thread, std::string const& first_reply, std::string const& reply) {
    std::string const which =
        thread == 0 ? fmt::format("the reply to request {}", request)
                    : fmt::format("the result of thread {} for request {}", thread, request);
    throw testing::RaceError(
        seed, fmt::format("the {} threads race: {} is {} with seed {} and {} with seed {}",
                          options.threads, which, first_reply, options.first_seed, reply, seed));
}

}  // namespace detail
}  // namespace carillon

namespace carillon::testing {
namespace {

constexpr char const* class_name = "testing::ThreadedBlocks";
std::atomic<bool> is_there{false};

}  // namespace

ThreadedBlocks::ThreadedBlocks(std::uint64_t seed, std::size_t stack_bytes) try {
    detail::require_stack(stack_bytes);
    detail::BlockRunner runner = [=](unsigned threads, unsigned block, auto const& run_block) {
        detail::in_call(class_name, [&] {
            detail::FiberBlock(threads, stack_bytes).run(seed, block, [&] { run_block(block); });
        });
    };
    if (is_there.exchange(true)) {
        throw UsageError("another one exists: only one at a time can decide how kernels run");
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
