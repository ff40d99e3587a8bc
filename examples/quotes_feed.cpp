// SPDX-License-Identifier: Apache-2.0
// Commands the kernel that quotes_owner.cpp owns, from a process of its own that needs no CUDA.
// Usage: quotes_feed PATH
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

#include "quotes.hpp"

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    // The owner may start later: wait for it.
    carillon::Connection const owner = carillon::connect(argv[1], {.wait_for_owner = 10s});
    auto quotes = owner.channel<Tick, Quote>();
    for (int i = 0; i < 3; ++i) {
        Quote const quote = quotes.call(Tick{4810.0 + i, 4810.5 + i}, 1s);
        std::printf("tick %u: %.2f\n", quote.count, quote.price);
    }
    if (!owner.why_host_memory().empty()) {
        std::printf("rings in host memory: %s\n", owner.why_host_memory().c_str());
    }
    return 0;
} catch (carillon::OwnerGoneError const& error) {
    std::fprintf(stderr, "%s; what was not answered may have been served\n", error.what());
    return 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
