// SPDX-License-Identifier: Apache-2.0
// Several requests outstanding at once: single ones by tickets, and a row of them with one fence.
#include <array>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

struct Tick {
    double bid, ask;
};
struct Quote {
    double price;
    unsigned count;  // the ticks that the handler has seen
};

struct Reprice {
    unsigned count = 0;  // stays from request to request

    CARILLON_HD Quote operator()(Tick const& tick) { return {(tick.bid + tick.ask) / 2, ++count}; }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    carillon::PersistentKernel<Reprice> kernel(device);
    auto& channel = kernel.channel();

    // Returns once the request is sent; waits up to a second only if the ring has no free slot.
    carillon::Ticket const first = channel.submit(Tick{10, 12}, 1s);
    carillon::Ticket const second = channel.submit(Tick{20, 22}, 1s);
    Quote const later = channel.wait(second, 1s);  // take the replies in any order
    Quote const earlier = channel.wait(first, 1s);
    std::printf("tick %u: %.0f, tick %u: %.0f\n", earlier.count, earlier.price, later.count,
                later.price);

    std::array<Tick, 100> ticks{};
    for (unsigned i = 0; i < 100; ++i) ticks[i] = {4810.0 + i, 4810.5 + i};
    std::array<Quote, 100> quotes{};
    carillon::Tickets tickets;
    channel.submit_n(ticks, tickets, 1s);  // one fence for all
    channel.take_n(tickets, quotes, 1s);   // in the order of the requests
    std::printf("the last of 100 more, tick %u: %.2f\n", quotes[99].count, quotes[99].price);
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "outstanding: %s\n", error.what());
    return 1;
}
