// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include <carillon/carillon.hpp>
#include <chrono>
#include <exception>

#include "measure/interrupt.hpp"
#include "soak/soak.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint64_t most_cycle_failures = 10;  // a broken device would take all its time-outs
constexpr std::chrono::seconds cycle_limit{5};

void start_call_stop(Device const& device, std::uint64_t number) {
    KernelOptions options;
    options.capacity = 16;
    options.lifetime = std::chrono::minutes(1);
    PersistentKernel<SoakHandler<1>> kernel(device, options);
    auto const request = make_soak_request<1>(0, number);
    if (kernel.channel().call(request, cycle_limit) != make_soak_reply(request, 1)) {
        throw Error("call", "the reply is not the request's");
    }
    kernel.stop(cycle_limit);
}

}  // namespace

CyclesResult run_cycles(Device const& device, std::uint64_t cycles, Progress const& progress) {
    if (cycles == 0) throw UsageError("soak", "there must be at least one cycle");
    CyclesResult result;
    std::uint64_t const warm_after = (cycles + 9) / 10;
    std::uint64_t const threads = read_soak_usage().threads;
    auto const start = std::chrono::steady_clock::now();
    for (std::uint64_t i = 1;
         i <= cycles && result.failures < most_cycle_failures && !interrupted(); ++i) {
        try {
            start_call_stop(device, i);
            ++result.cycles;
        } catch (std::exception const& error) {
            if (++result.failures == 1) result.first_failure = error.what();
        }
        if (i == warm_after) result.memory.warm = read_soak_usage(threads);
        progress(static_cast<double>(i) / static_cast<double>(cycles));
    }
    std::chrono::duration<double> const elapsed = std::chrono::steady_clock::now() - start;
    result.per_second = static_cast<double>(result.cycles) / elapsed.count();
    if (result.memory.warm.threads == 0) result.memory.warm = read_soak_usage(threads);
    result.memory.end = read_soak_usage(result.memory.warm.threads);
    return result;
}

}  // namespace carillon::tool
