// SPDX-License-Identifier: Apache-2.0
// One question: what does a user's program get? It is one: of Carillon it includes what users
// include, the kernel has default options, and the first handler is the README's. An iteration is a
// call; p50_ns and p99_ns are of all calls, to be compared with what `carillon rtt` says of the
// same messages. Device: CARILLON_DEVICE, default best.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace std::chrono_literals;

// The README's: 16 bytes there, 8 back.
struct Tick {
    double bid, ask;
};
struct Quote {
    double price;
};
struct Reprice {
    CARILLON_HD Quote operator()(Tick const& tick) const { return {(tick.bid + tick.ask) / 2}; }
};

struct Order {
    std::uint32_t instrument, price, size;
};
struct EchoOrder {
    CARILLON_HD Order operator()(Order const& order) const { return order; }
};

struct Record {
    std::uint64_t field[6];
};
struct EchoRecord {
    CARILLON_HD Record operator()(Record const& record) const { return record; }
};

// The nearest rank, as in the reports of the command.
double quantile(std::vector<double> const& sorted, double share) {
    auto const rank = std::ceil(share * static_cast<double>(sorted.size()));
    return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

template <class Handler, class Request>
void call(benchmark::State& state, carillon::Device const& device, Request const& request) {
    using Clock = std::chrono::steady_clock;
    carillon::PersistentKernel<Handler> kernel(device);
    auto& channel = kernel.channel();
    for (int i = 0; i < 1000; ++i) (void)channel.call(request, 1s);
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(state.max_iterations));
    for (auto _ : state) {
        auto const start = Clock::now();
        auto reply = channel.call(request, 1s);
        std::chrono::duration<double, std::nano> const taken = Clock::now() - start;
        benchmark::DoNotOptimize(reply);
        times.push_back(taken.count());
        state.SetIterationTime(taken.count() / 1e9);
    }
    std::sort(times.begin(), times.end());
    state.counters["p50_ns"] = quantile(times, 0.5);
    state.counters["p99_ns"] = quantile(times, 0.99);
}

template <class Handler, class Request>
void add(char const* name, carillon::Device const& device, Request const& request) {
    benchmark::RegisterBenchmark(name, [&device, request](benchmark::State& state) {
        call<Handler>(state, device, request);
    })->UseManualTime();
}

}  // namespace

int main(int argc, char** argv) try {
    char const* const selector = std::getenv("CARILLON_DEVICE");
    auto const device = carillon::Device::open(selector == nullptr ? "best" : selector);
    benchmark::AddCustomContext("device", device.info().name);
    benchmark::AddCustomContext("emulated", device.emulated() ? "true" : "false");
    add<Reprice>("call-16/8", device, Tick{4810.00, 4810.25});
    add<EchoOrder>("call-12/12", device, Order{17, 481'000, 22});
    add<EchoRecord>("call-48/48", device, Record{{1, 2, 3, 4, 5, 6}});
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
} catch (carillon::Error const& error) {
    std::fprintf(stderr, "bench_users_call: %s\n", error.what());
    return 1;
}
