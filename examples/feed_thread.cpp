// SPDX-License-Identifier: Apache-2.0
// One thread receives trades, another one calls the kernel. A queue of Boost.Lockfree carries the
// trades between them, because one thread at a time may use a channel.
#include <boost/lockfree/spsc_queue.hpp>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

struct Trade {
    double price, quantity;
};
struct Totals {
    double paid, quantity;
};

struct Summer {
    Totals totals{};

    CARILLON_HD Totals operator()(Trade const& trade) {
        totals.paid += trade.price * trade.quantity;
        totals.quantity += trade.quantity;
        return totals;
    }
};

using Trades = boost::lockfree::spsc_queue<Trade, boost::lockfree::capacity<256>>;

// Stands for a thread that reads a socket. It never waits for the kernel, only for a full queue.
void receive(Trades& trades, std::stop_token const& stop) {
    for (int i = 1; i <= 1000; ++i) {
        while (!trades.push({100.0 + i % 5, 2})) {
            if (stop.stop_requested()) return;
            std::this_thread::yield();
        }
    }
}

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    carillon::PersistentKernel<Summer> kernel(device);
    auto& channel = kernel.channel();

    Trades trades;
    std::jthread const receiver([&](std::stop_token const& stop) { receive(trades, stop); });
    Totals totals{};
    for (int received = 0; received < 1000;) {
        Trade trade{};
        if (trades.pop(trade)) {
            totals = channel.call(trade, 10s);
            ++received;
        } else {
            channel.warm();  // keeps the next call short
        }
    }
    std::printf("bought %.0f for %.0f\n", totals.quantity, totals.paid);
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "feed_thread: %s\n", error.what());
    return 1;
}
