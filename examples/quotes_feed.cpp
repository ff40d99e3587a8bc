// SPDX-License-Identifier: Apache-2.0
// Commands the kernel that quotes_owner.cpp owns, from a process of its own that needs no CUDA.
// Usage: quotes_feed PATH
#include <carillon/carillon.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <thread>

#include "quotes.hpp"

using namespace std::chrono_literals;

// The owner may not be there yet.
carillon::Connection connect_within(std::chrono::seconds patience, char const* path) {
    auto const deadline = std::chrono::steady_clock::now() + patience;
    for (;;) {
        try {
            return carillon::connect(path);
        } catch (carillon::SystemError const& error) {
            bool const later = error.code() == ENOENT || error.code() == ECONNREFUSED;
            if (!later || std::chrono::steady_clock::now() > deadline) throw;
        }
        std::this_thread::sleep_for(10ms);
    }
}

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    carillon::Connection const owner = connect_within(10s, argv[1]);
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
