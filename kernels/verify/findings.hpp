// SPDX-License-Identifier: Apache-2.0
// The findings of a litmus test of `carillon verify`.
#pragma once

#include <carillon/detail/wire/config.hpp>
#include <cstdint>

namespace carillon::tool {

enum class Fault : std::uint32_t {
    content,      // a line is not what was sent under its number
    overwritten,  // a slot was written again before its line was taken
    missing,      // a line did not come
    torn,         // a quad's payload is not that of its tag
    order,        // a later line was seen before an earlier one
    stale_data,   // data are older than the line or the flag that names them
    twice,        // a message came again
};

struct Evidence {
    Fault fault;
    std::uint32_t ring;  // or the line that was watched, or the producer
    std::uint64_t line;  // its sequence number or version, or the producer's number for it
    std::uint32_t word;
    std::uint64_t expected;
    std::uint64_t seen;
};

// The checks of one thread or block, and the first few faults that it found.
struct alignas(64) Findings {
    static constexpr std::uint32_t most_evidence = 5;

    std::uint64_t started = 0;
    std::uint64_t checks = 0;
    std::uint64_t violations = 0;
    std::uint64_t stale = 0;        // those of them that are stale_data
    std::uint64_t partly_seen = 0;  // looks that saw a line arrive in pieces
    std::uint64_t rounds = 0;       // rows of several lines, or lives of a ring
    std::uint64_t overlapping = 0;  // those in which the producer was told as it sent
    Evidence evidence[most_evidence] = {};

    CARILLON_HD void add(Evidence const& violation) {
        if (violations < most_evidence) evidence[violations] = violation;
        ++violations;
        if (violation.fault == Fault::stale_data) ++stale;
    }
    [[nodiscard]] std::uint32_t evidence_count() const {
        return violations < most_evidence ? static_cast<std::uint32_t>(violations) : most_evidence;
    }
    Findings& operator+=(Findings const& other) {
        std::uint32_t count = evidence_count();
        for (std::uint32_t i = 0; i < other.evidence_count() && count < most_evidence; ++i) {
            evidence[count++] = other.evidence[i];
        }
        checks += other.checks;
        violations += other.violations;
        stale += other.stale;
        partly_seen += other.partly_seen;
        rounds += other.rounds;
        overlapping += other.overlapping;
        return *this;
    }
};

}  // namespace carillon::tool
