// SPDX-License-Identifier: Apache-2.0
#include "emulated/block_runner.hpp"

#include <mutex>
#include <utility>

#include "os/process.hpp"

namespace carillon::detail {
namespace {

using Runner = std::shared_ptr<BlockRunner const>;

Runner& the_runner() {
    static auto& runner = *new Runner;  // never destroyed: static kernels start later
    return runner;
}

}  // namespace

void set_block_runner(std::shared_ptr<BlockRunner const> runner) {
    std::lock_guard const lock(ForkMutex<Runner>::get());
    the_runner() = std::move(runner);
}

std::function<void(unsigned)> block_of(Program const& program) {
    std::lock_guard const lock(ForkMutex<Runner>::get());
    if (the_runner() == nullptr) return program.run_block;
    return [runner = the_runner(), threads = program.threads, run_block = program.run_block](
               unsigned block) { (*runner)(threads, block, run_block); };
}

}  // namespace carillon::detail
