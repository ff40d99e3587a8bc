// SPDX-License-Identifier: Apache-2.0
// The kernel asks the host: a handler calls a function on the CPU for data that only the CPU has,
// and logs odd requests.
#include <carillon/carillon.hpp>
#include <cstdio>
#include <map>

struct Order {
    int account;
    double price;
};

// Account -> limit. In a real program: a data base, a file, another machine.
using Limits = carillon::HostService<int, double>;

struct CheckOrder {
    Limits::Caller limits;
    carillon::DeviceLog log;

    // Whether the order may go. Without an answer within a second it may not.
    CARILLON_HD bool operator()(Order const& order) {
        double limit = 0;
        auto const result = limits.call(order.account, limit, 1'000'000'000);
        if (result == carillon::HostCallResult::failed) {
            carillon::log<"no account {}", carillon::LogLevel::warning>(log, order.account);
        } else if (order.price > limit) {
            carillon::log<"account {}: price {:.2f} over limit {:.2f}">(log, order.account,
                                                                        order.price, limit);
        }
        return result == carillon::HostCallResult::answered && order.price <= limit;
    }
};

int main() try {
    using namespace std::chrono_literals;
    auto const device = carillon::Device::open();
    std::map<int, double> const known{{1, 5000}, {2, 4000}};
    Limits const limits(device, [&](int account) { return known.at(account); });
    carillon::LogService const log(device);
    carillon::PersistentKernel<CheckOrder> kernel(
        device, {}, CheckOrder{limits.device_handle(), log.device_handle()});

    for (int const account : {1, 2, 3}) {
        bool const may_go = kernel.channel().call({account, 4810.25}, 5s);
        std::printf("account %d: %s\n", account, may_go ? "sent" : "refused");
    }
    std::printf("%d call failed\n", static_cast<int>(limits.failures()));
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "ask_host: %s\n", error.what());
    return 1;
}
