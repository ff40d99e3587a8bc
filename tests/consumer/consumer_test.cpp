// SPDX-License-Identifier: Apache-2.0
// A user's test: a handler of several threads, tested without a GPU.
#include <carillon/carillon.hpp>
#include <carillon/testing.hpp>
#include <cstdio>

struct Handler {
    static constexpr unsigned threads = 64;
    bool waits = true;

    CARILLON_HD int operator()(int request) const {
        auto& shared = carillon::block::shared<int, Handler>();
        if (carillon::block::thread_rank() == 63) shared = request;
        if (waits || carillon::block::thread_rank() != 0) carillon::block::sync();
        return shared;
    }
};

int main() {
    std::printf("%d", carillon::testing::run_block(Handler{}, 42));
    try {
        (void)carillon::testing::run_block(Handler{.waits = false}, 42);
    } catch (carillon::testing::BarrierError const&) {
        std::printf(", and without the barrier an error\n");
    }
}
