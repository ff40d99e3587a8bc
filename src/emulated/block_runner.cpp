// SPDX-License-Identifier: Apache-2.0
#include "emulated/block_runner.hpp"

#include <mutex>
#include <utility>

namespace carillon::detail {
namespace {

struct Runner {
    std::mutex mutex;
    std::shared_ptr<BlockRunner const> runner;
};

Runner& the_runner() {
    static auto& runner = *new Runner;  // never destroyed: kernels with static storage start later
    return runner;
}

}  // namespace

void set_block_runner(std::shared_ptr<BlockRunner const> runner) {
    std::lock_guard const lock(the_runner().mutex);
    the_runner().runner = std::move(runner);
}

std::function<void(unsigned)> block_of(Program const& program) {
    std::lock_guard const lock(the_runner().mutex);
    if (the_runner().runner == nullptr) return program.run_block;
    return [runner = the_runner().runner, threads = program.threads, run_block = program.run_block](
               unsigned block) { (*runner)(threads, block, run_block); };
}

}  // namespace carillon::detail
