// SPDX-License-Identifier: Apache-2.0
// Asks for 2000 quotes, though the owner (quotes_owner.cpp) may end and start again meanwhile.
// Usage: quotes_follower PATH
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

#include "quotes.hpp"

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
    if (argc != 2) return 2;
    constexpr int last = 2000;
    int owners = 0;
    std::setvbuf(stdout, nullptr, _IOLBF, 0);  // line by line, also into a file
    for (int number = 1; number <= last;) {
        try {
            auto const owner = carillon::connect(argv[1], {.wait_for_owner = 10s});
            auto quotes = owner.channel<Tick, Quote>();
            std::printf("owner %d\n", ++owners);
            for (; number <= last; ++number) {
                (void)quotes.call(Tick{4810.0 + number, 4811.0 + number}, 1s);
                std::this_thread::sleep_for(1ms);
            }
        } catch (carillon::StoppedError const&) {
            // The owner has gone (OwnerGoneError), or its kernel was stopped. It may have
            // served `number`. It has served everything before, and nothing behind was sent.
        } catch (carillon::TimeoutError const&) {
            // The owner is slow, or stopped. It may have served `number`, or may serve it yet.
        }
    }
    std::printf("%d quotes from %d owners\n", last, owners);
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
}
