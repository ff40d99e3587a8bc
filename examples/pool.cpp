// SPDX-License-Identifier: Apache-2.0
// A pool: several threads call one kernel, and any free block serves the next request.
#include <array>
#include <atomic>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>
#include <thread>

struct Order {
    double price, quantity;
};

struct Cost {
    CARILLON_HD double operator()(Order const& order) const { return order.price * order.quantity; }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    // clang-format off: as docs/tutorial.md shows it
    carillon::PersistentKernel<Cost, carillon::Pool> kernel(device,
                                                            {.blocks = 2, .pool = {.clients = 16}});
    // clang-format on
    std::atomic<double> paid = 0;
    {
        std::array<std::jthread, 4> threads;
        for (std::jthread& each : threads) {
            each = std::jthread([&] {
                auto client = kernel.client();  // this thread's own
                for (int i = 0; i < 10; ++i) paid += client.call(Order{2, 1}, 10s);
            });
        }
    }  // waits for the threads
    std::printf("4 threads paid %.0f\n", paid.load());
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "pool: %s\n", error.what());
    return 1;
}
