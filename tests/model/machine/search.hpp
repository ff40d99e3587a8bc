// SPDX-License-Identifier: Apache-2.0
// How Relacy goes through the executions of a model.
#pragma once

#include <cstdlib>
#include <iostream>
#include <string>

#include "model/machine/relacy.hpp"

namespace carillon::test {

struct Search {
    rl::scheduler_type_e scheduler;
    rl::iteration_t iterations = 0;  // of a random search
    unsigned switches = 0;           // of a bounded one: how often a thread is taken off
};

// Every interleaving, with every load returning the latest value or, where the order allows, the
// one before.
inline constexpr Search every_execution{rl::sched_full};

// Executions with at most so many switches away from a thread that could have gone on.
[[nodiscard]] constexpr Search switching_at_most(unsigned switches) {
    return {rl::sched_bound, 0, switches};
}

// Loads may return any of the last three values. Every run has the same executions.
// CARILLON_MODEL_ITERATIONS makes for longer runs.
[[nodiscard]] inline Search random_executions(rl::iteration_t count) {
    char const* const asked = std::getenv("CARILLON_MODEL_ITERATIONS");
    return {rl::sched_random, asked == nullptr ? count : std::stoull(asked)};
}

// Relacy's result: "SUCCESS", "DATA RACE" and so on.
template <class Model>
std::string outcome(Search const& search, std::ostream& report) {
    std::ostream silent(nullptr);
    rl::test_params params;
    params.search_type = search.scheduler;
    params.iteration_count = search.iterations;
    params.context_bound = search.switches;
    params.execution_depth_limit = Model::depth_limit;
    params.output_stream = &report;
    params.progress_stream = &silent;
    rl::simulate<Model>(params);
    return rl::test_result_str(params.test_result);
}

// Prints the number of executions, or the one that failed, on standard output.
template <class Model>
std::string outcome(Search const& search) {
    return outcome<Model>(search, std::cout);
}

// For models that must fail.
template <class Model>
std::string quiet_outcome(Search const& search) {
    std::ostream silent(nullptr);
    return outcome<Model>(search, silent);
}

}  // namespace carillon::test
