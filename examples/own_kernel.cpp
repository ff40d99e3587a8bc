// SPDX-License-Identifier: Apache-2.0
// Below PersistentKernel: a kernel of your own takes the rings' device handles by value. This one
// sums the orders and sends a running total back for every tenth order, until an order of 0. It
// needs no fence: the rings issue them.
#include <carillon/carillon.hpp>
#include <cstdio>

struct Order {
    long quantity;
};
struct Total {
    long orders, quantity;
};

using OrdersIn = carillon::Ring<Order, carillon::Direction::to_device>;
using TotalsOut = carillon::Ring<Total, carillon::Direction::to_host>;

struct Accumulate {
    OrdersIn::DeviceEnd orders;
    TotalsOut::DeviceEnd totals;

    // One block of one thread. Every wait is bounded in time: so many polls may take a second on
    // one machine, and hours on another.
    CARILLON_HD void operator()(unsigned /*block*/) {
        constexpr std::uint64_t patience_ns = 10'000'000'000;
        constexpr unsigned in_a_row = 64;
        carillon::DeviceClock const clock;
        Total total{0, 0};
        std::uint64_t idle_since = 0;
        for (unsigned polls = 0;;) {
            Order order{};
            if (!orders.try_pop(order, in_a_row)) {
                if (polls == 0) idle_since = clock.now_ns();
                if (clock.now_ns() - idle_since > patience_ns) return;
                clock.idle(polls += in_a_row);
                continue;
            }
            polls = 0;
            total.orders += 1;
            total.quantity += order.quantity;
            bool const last = order.quantity == 0;
            if (total.orders % 10 == 0 || last) {
                std::uint64_t const full_since = clock.now_ns();
                while (!totals.try_push(total)) {
                    if (clock.now_ns() - full_since > patience_ns) return;
                    clock.idle(++polls);
                }
                polls = 0;
            }
            if (last) return;
        }
    }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    OrdersIn orders(device);
    TotalsOut totals(device);
    // On a GPU you may as well launch a __global__ function of yours with <<<>>>, on a
    // non-blocking stream; launch() does that, and runs on the emulated device too.
    auto const kernel =
        carillon::launch(device, 1, Accumulate{orders.device_handle(), totals.device_handle()});

    for (long quantity = 1; quantity <= 100; ++quantity) orders.push({quantity}, 1s);
    for (int i = 0; i < 10; ++i) {
        Total const total = totals.pop(1s);
        std::printf("%ld orders, %ld contracts\n", total.orders, total.quantity);
    }
    orders.push({0}, 1s);
    return kernel.wait(5s) ? 0 : 1;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "own_kernel: %s\n", error.what());
    return 1;
}
