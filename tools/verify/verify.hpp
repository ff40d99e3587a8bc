// SPDX-License-Identifier: Apache-2.0
// `carillon verify`: litmus tests of the facts of docs/dev/guarantees.md on this machine. Each runs
// with the discipline, where a violation is an error, and without a part of it. The second run is
// its control: it shows whether the test could have shown anything here.
#pragma once

#include <carillon/device.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "kernels/verify/findings.hpp"
#include "measure/mapping.hpp"
#include "measure/progress.hpp"

namespace carillon::tool {

// The emulated device has room for as many blocks, and each thread has one at least.
inline constexpr unsigned most_verify_threads = 32;
// One processor less than there are, at least 1 and at most 8 threads.
[[nodiscard]] unsigned default_verify_threads();

struct Control {
    std::string what;  // is taken away
    std::uint64_t checks = 0;
    std::uint64_t failures = 0;
    bool shown = false;  // the failure occurs on this machine, and the test sees it
};

// NOLINTNEXTLINE(clang-analyzer-optin.performance.Padding): in the order of the report
struct TestReport {
    std::string name;
    std::string direction;
    std::string what;
    Findings findings{};
    std::vector<Control> controls{};
    std::map<std::string, std::uint64_t> figures{};
};

// One way of publishing, with its store fence and without.
struct FenceReport {
    struct Trials {
        std::uint64_t count = 0;
        double p50_ns = 0;
        std::uint64_t late = 0;  // not arrived after late_ns
    };
    static constexpr std::uint32_t late_ns = 50'000;

    std::string form;
    Trials with;
    Trials without;

    // Over a tenth of the trials were late without the fence, and over ten times as many as with.
    [[nodiscard]] bool lingered() const;
};

struct VerifyOptions {
    double seconds = 10;   // for all tests together
    unsigned threads = 0;  // of the CPU's side; 0: default_verify_threads()
    // Is called with each report once it is complete.
    std::function<void(TestReport const&)> tell{};
};

struct VerifyResult {
    double seconds = 0;
    unsigned threads = 0;
    std::vector<TestReport> tests;  // an interrupt leaves out the last ones
    std::vector<FenceReport> fences;
    MappingReport mapping;

    [[nodiscard]] std::uint64_t violations() const;
    [[nodiscard]] std::size_t controls() const;
    [[nodiscard]] std::size_t controls_shown() const;
    [[nodiscard]] std::uint64_t checks_of(std::string const& name) const;
};

// Throws what the library throws, and TimeoutError when a kernel does not start or end.
[[nodiscard]] VerifyResult run_verify(Device const& device, VerifyOptions const& options,
                                      Progress const& progress);

[[nodiscard]] std::unique_ptr<Command> make_verify_command();

}  // namespace carillon::tool
