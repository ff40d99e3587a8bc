// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include <carillon/kernel.hpp>
#include <chrono>

#include "doctor/facts.hpp"
#include "measure/latency.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

struct Doubled {
    CARILLON_HD std::uint64_t operator()(std::uint64_t number) const { return 2 * number; }
};

double call_often(Channel<std::uint64_t, std::uint64_t>& channel) {
    using Clock = std::chrono::steady_clock;
    Samples samples;
    for (std::uint64_t i = 0; i < 200; ++i) {
        auto const start = Clock::now();
        if (channel.call(i, 1s) != 2 * i) throw Error("call", "the answer is not the request's");
        samples.push_back(static_cast<std::uint32_t>((Clock::now() - start).count()));
    }
    return summarize("call", samples).p50_ns;
}

}  // namespace

CallFacts try_call(Device const& device) try {
    KernelOptions options;
    options.lifetime = 10s;  // even if this process dies
    options.channels.placement = Placement::off;
    PersistentKernel<Doubled> kernel(device, options);
    CallFacts facts;
    facts.p50_ns = call_often(kernel.channel());
    kernel.stop();
    return facts;
} catch (std::exception const& error) {
    return {{}, error.what(), 0};
}

}  // namespace carillon::tool
