// SPDX-License-Identifier: Apache-2.0
// The main program of a benchmark that needs a device: CARILLON_DEVICE, default best.
#pragma once

#include <benchmark/benchmark.h>

#include <carillon/carillon.hpp>
#include <cstdio>
#include <cstdlib>

namespace carillon::bench {

// `run(device)` registers the benchmarks and calls run_all() while what they need lives.
template <class Run>
int on_device(char const* program, Run&& run) {
    try {
        char const* const selector = std::getenv("CARILLON_DEVICE");
        auto const device = Device::open(selector == nullptr ? "best" : selector);
        benchmark::AddCustomContext("device", device.info().name);
        benchmark::AddCustomContext("emulated", device.emulated() ? "true" : "false");
        run(device);
        return 0;
    } catch (Error const& error) {
        // Not fmt: nvcc compiles some of these, and takes offence at its header.
        std::fprintf(stderr, "%s: %s\n", program, error.what());
        return 1;
    }
}

inline void run_all(int argc, char** argv) {
    benchmark::Initialize(&argc, argv);
    benchmark::RunSpecifiedBenchmarks();
}

}  // namespace carillon::bench
