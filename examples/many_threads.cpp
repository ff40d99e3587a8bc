// SPDX-License-Identifier: Apache-2.0
// How requests reach the blocks of a kernel, and several threads that ask one pool of blocks.
#include <array>
#include <atomic>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

struct SetLimit {
    double limit;
};
struct Order {
    double price, quantity;
};
struct Fill {
    double paid;
};

struct Desk {
    using Commands = carillon::Commands<SetLimit, Order>;
    double limit = 100;

    CARILLON_HD void operator()(SetLimit const& command) { limit = command.limit; }
    CARILLON_HD carillon::Outcome<Fill> operator()(Order const& order) {
        double const price = order.price * order.quantity;
        if (price > limit) return carillon::Refusal{1};
        return Fill{price};
    }
};

using namespace std::chrono_literals;

// Each thread has a client of its own, and its requests go to whichever block is free.
template <class Kernel>
double ask_from_threads(Kernel& kernel) {
    std::atomic<double> paid = 0;
    {
        std::array<std::jthread, 4> threads;
        for (std::jthread& each : threads) {
            each = std::jthread([&] {
                auto client = kernel.client();
                for (int i = 0; i < 10; ++i) paid += client.call(Order{2, 1}, 10s).paid;
            });
        }
    }
    return paid;
}

int main() try {
    auto const device = carillon::Device::open();
    // clang-format off: as docs/guide/many-threads.md shows it
    carillon::PersistentKernel<Desk> kernel(device);              // one block, one channel
    carillon::PersistentKernel<Desk> two(device, {.blocks = 2});  // two blocks, a channel each
    carillon::PersistentKernel<Desk> desk(device, {.channels = {.express = true}});
    carillon::PersistentKernel<Desk, carillon::WatchedChannels> many(
        device, {.watched = {.per_block = 64}});
    carillon::PersistentKernel<Desk, carillon::Pool> pool(device,
                                                          {.blocks = 2, .pool = {.clients = 16}});
    // clang-format on

    double paid = kernel.channel().call(Order{30, 3}, 10s).paid;
    paid += two.channel(1).call(Order{30, 2}, 10s).paid;
    desk.express().call(SetLimit{200}, 10s);
    paid += desk.channel().call(Order{30, 5}, 10s).paid;
    paid += many.channel(63).call(Order{10, 1}, 10s).paid;
    std::printf("paid %.0f by channels, %.0f through the pool\n", paid, ask_from_threads(pool));
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "many_threads: %s\n", error.what());
    return 1;
}
