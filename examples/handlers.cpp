// SPDX-License-Identifier: Apache-2.0
// Handlers with state that the threads of a block share, with ends of their own for each block, and
// with work between requests; and a client that sends many requests at once.
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdio>
#include <deque>
#include <span>
#include <vector>

using namespace std::chrono_literals;
using carillon::Direction;

struct Values {
    double of[64];
};

struct Totals {
    static constexpr unsigned threads = 64;
    struct Shared {
        double of_thread[threads]{};
        double total = 0;
    };

    CARILLON_HD double operator()(Values const& values, Shared& shared) const {
        namespace block = carillon::block;
        double sum = 0;
        for (unsigned i = block::thread_rank(); i < 64; i += block::size()) sum += values.of[i];
        shared.of_thread[block::thread_rank()] = sum;
        block::sync();
        if (block::thread_rank() == 0) {
            for (unsigned i = 0; i < block::size(); ++i) shared.total += shared.of_thread[i];
        }
        block::sync();
        return shared.total;  // of all requests so far
    }
};

struct Limits {
    double highest;
};
struct Status {
    long refused;
};
using LimitsIn = carillon::Mailbox<Limits, Direction::to_device>;
using StatusOut = carillon::Mailbox<Status, Direction::to_host>;

struct Pricer {
    LimitsIn::DeviceEnd limits_in;
    StatusOut::DeviceEnd status_out;
    Limits limits{100};
    Status status{};

    CARILLON_HD bool operator()(double const& price) {
        (void)limits_in.refresh(limits);
        if (price <= limits.highest) return true;
        ++status.refused;
        status_out.set(status);
        return false;
    }
    CARILLON_HD void idle() { (void)limits_in.refresh(limits); }
};

void add(carillon::Device const& device) {
    carillon::PersistentKernel<Totals> kernel(device);
    auto& channel = kernel.channel();
    std::vector<Values> const requests(16, Values{{1, 2, 3}});
    std::vector<double> replies(requests.size());

    carillon::Tickets tickets;
    channel.submit_n(requests, tickets, 10s);  // one fence for all
    channel.take_n(tickets, replies, 10s);     // in the order of the requests
    std::printf("total %.0f\n", replies.back());

    std::vector<Values> const more(3, Values{{1}});
    channel.submit_n(more, tickets, 10s);
    double const first = channel.wait(tickets[0], 10s);
    tickets = tickets.after(1);  // without the one that was taken
    channel.take_n(tickets, std::span(replies).first(tickets.size()), 10s);
    std::printf("then %.0f, and %.0f\n", first, replies[1]);
}

void price(carillon::Device const& device) {
    LimitsIn limits(device, {100});
    std::deque<StatusOut> status;  // neither copied nor moved
    for (int block = 0; block < 2; ++block) status.emplace_back(device, Status{});

    carillon::PersistentKernel kernel(device, {.blocks = 2}, [&](unsigned block) {
        return Pricer{limits.device_handle(), status[block].device_handle()};
    });
    bool const before = kernel.channel(1).call(50, 10s);
    limits.set({10});
    bool const after = kernel.channel(1).call(50, 10s);
    Status now{};
    auto const until = std::chrono::steady_clock::now() + 10s;
    while (now.refused == 0 && std::chrono::steady_clock::now() < until) {
        (void)status[1].refresh(now);
    }
    std::printf("50: %s, then %s; block 1 refused %ld\n", before ? "sent" : "refused",
                after ? "sent" : "refused", now.refused);
}

int main() try {
    auto const device = carillon::Device::open();
    add(device);
    price(device);
    return 0;
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "handlers: %s\n", error.what());
    return 1;
}
