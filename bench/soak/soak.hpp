// SPDX-License-Identifier: Apache-2.0
// `carillon-bench soak`: whether anything is lost, or grows, over a long time under load or over
// many starts and stops.
#pragma once

#include <carillon/device.hpp>
#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "command/command.hpp"
#include "measure/progress.hpp"
#include "soak/check.hpp"

namespace carillon::tool {

struct SoakOptions {
    double seconds = 60;
    unsigned load_percent = 50;               // of the highest rate
    std::optional<unsigned> channels;         // each with a block; none: a few
    unsigned lines = 1;                       // of a message, either way: 1, 2 or 16
    std::uint32_t capacity = 256;             // slots of a channel
    std::uint64_t abandon_every = 1U << 16U;  // one request of so many on each channel is given up
};

// Resources that a process holds.
struct SoakUsage {
    std::uint64_t resident_bytes = 0;
    std::uint64_t descriptors = 0;
    std::uint64_t threads = 0;
};
// A thread exists for a moment after another one has joined it. So this waits, up to a second,
// until there are no more than `threads`. Throws SystemError.
[[nodiscard]] SoakUsage read_soak_usage(
    std::uint64_t threads = std::numeric_limits<std::uint64_t>::max());

struct SoakMemory {
    SoakUsage warm;  // after the allocations that are made once
    SoakUsage end;

    // Whether nothing grew, except a MiB of memory that the allocator may have kept. False if
    // either figure was never read.
    [[nodiscard]] bool flat() const;
};

struct SoakResult {
    SoakCounts counts;  // of every request, those that measured the highest rate too
    unsigned channels = 0;
    unsigned lines = 0;  // of a message
    double seconds = 0;  // of the load
    unsigned load_percent = 0;
    double highest_per_second = 0;   // 0, or not finite: an interrupt came before it was known
    double achieved_per_second = 0;  // 0, or not finite, as above
    SoakMemory memory;
    std::string failure;  // what ended it early, or went wrong at its end
};

// Throws what the library throws until the kernel runs; later faults are in the result.
[[nodiscard]] SoakResult run_soak(Device const& device, SoakOptions const& options,
                                  Progress const& progress);

struct CyclesResult {
    std::uint64_t cycles = 0;  // that went well
    std::uint64_t failures = 0;
    std::string first_failure;
    double per_second = 0;
    SoakMemory memory;
};

// Starts a kernel, calls it, stops it and destroys it, `cycles` times; fewer when one after the
// other fails.
[[nodiscard]] CyclesResult run_cycles(Device const& device, std::uint64_t cycles,
                                      Progress const& progress);

[[nodiscard]] nlohmann::json to_json(SoakResult const& result);
[[nodiscard]] nlohmann::json to_json(CyclesResult const& result);
// For people.
[[nodiscard]] std::string soak_text(SoakResult const& result);
[[nodiscard]] std::string cycles_text(CyclesResult const& result);
// Throw Error, which names the faults of the run, if there are any: what was lost, wrong or grew.
void require_sound(SoakResult const& result);
void require_sound(CyclesResult const& result);

[[nodiscard]] std::unique_ptr<Command> make_soak_command();

}  // namespace carillon::tool
