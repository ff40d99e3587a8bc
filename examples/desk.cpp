// SPDX-License-Identifier: Apache-2.0
// Several commands for one kernel: orders, a limit that they may not pass, and the total so far. An
// order above the limit is refused; a new limit overtakes the orders that wait.
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>

struct SetLimit {
    double limit;
};
struct Order {
    double price, quantity;
};
struct Total {};
struct Fill {
    double paid, left;
};

constexpr std::uint32_t over_the_limit = 1;

struct Desk {
    using Commands = carillon::Commands<SetLimit, Order, Total>;
    double limit = 0, total = 0;

    CARILLON_HD void operator()(SetLimit const& command) { limit = command.limit; }
    CARILLON_HD carillon::Outcome<Fill> operator()(Order const& order) {
        double const price = order.price * order.quantity;
        if (total + price > limit) return carillon::Refusal{over_the_limit};
        total += price;
        return Fill{price, limit - total};
    }
    CARILLON_HD double operator()(Total const& /*command*/) const { return total; }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    carillon::PersistentKernel<Desk> kernel(device, {.channels = {.express = true}});
    auto& desk = kernel.channel();

    kernel.express().call(SetLimit{100}, 1s);
    Fill const fill = desk.call(Order{30, 3}, 1s);
    std::printf("paid %.0f, %.0f left\n", fill.paid, fill.left);
    try {
        (void)desk.call(Order{30, 1}, 1s);
    } catch (carillon::HandlerError const& error) {
        std::printf("%s\n", error.what());
    }
    kernel.express().call(SetLimit{200}, 1s);
    (void)desk.call(Order{30, 1}, 1s);
    std::printf("total %.0f\n", desk.call(Total{}, 1s));
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "desk: %s\n", error.what());
    return 1;
}
