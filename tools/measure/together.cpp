// SPDX-License-Identifier: Apache-2.0
#include "measure/together.hpp"

#include <algorithm>
#include <barrier>
#include <carillon/detail/host/thread.hpp>
#include <chrono>
#include <cstddef>
#include <exception>
#include <vector>

namespace carillon::tool {
namespace {

using Clock = std::chrono::steady_clock;

struct Worker {
    Clock::time_point begin = Clock::time_point::max();
    Clock::time_point end = Clock::time_point::min();
    std::exception_ptr failure;
};

// A thread that could not prepare itself keeps none of the others waiting.
void run_one(Worker& worker, std::barrier<>& ready, unsigned index,
             std::function<void(unsigned)> const& prepare,
             std::function<void(unsigned)> const& work) {
    bool prepared = false;
    try {
        prepare(index);
        prepared = true;
        ready.arrive_and_wait();
        worker.begin = Clock::now();
        work(index);
        worker.end = Clock::now();
    } catch (...) {
        worker.failure = std::current_exception();
        if (!prepared) ready.arrive_and_drop();
    }
}

}  // namespace

double run_together(unsigned threads, std::function<void(unsigned)> const& prepare,
                    std::function<void(unsigned)> const& work) {
    std::vector<Worker> workers(threads);
    std::barrier<> ready(threads);
    {
        std::vector<detail::Thread> running;
        for (unsigned i = 0; i < threads; ++i) {
            running.push_back(detail::start_thread(
                "carillon-bench", [&, i] { run_one(workers[i], ready, i, prepare, work); }));
        }
    }
    auto begin = Clock::time_point::max();
    auto end = Clock::time_point::min();
    for (Worker const& each : workers) {
        if (each.failure) std::rethrow_exception(each.failure);
        begin = std::min(begin, each.begin);
        end = std::max(end, each.end);
    }
    return std::chrono::duration<double>(end - begin).count();
}

}  // namespace carillon::tool
