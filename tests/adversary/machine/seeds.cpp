// SPDX-License-Identifier: Apache-2.0
#include "adversary/machine/seeds.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <optional>

namespace carillon::test {
namespace {

struct Seeds {
    std::uint64_t first = 1;
    std::uint64_t count = 1000;
};

struct SeedFailure {
    std::uint64_t seed;
    std::string what;
    std::string trace;
};

std::uint64_t number_from(char const* variable, std::uint64_t otherwise) {
    char const* const text = std::getenv(variable);
    return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

std::string run(Machine& machine, Configuration const& configuration, Scenario const& scenario,
                std::uint64_t seed, bool traced) {
    machine.reset(configuration.bus, seed, traced);
    return scenario(Policies(machine, configuration));
}

std::optional<SeedFailure> first_failure(Seeds seeds, Configuration const& configuration,
                                         Scenario const& scenario) {
    auto const machine = std::make_unique<Machine>();
    for (std::uint64_t seed = seeds.first; seed != seeds.first + seeds.count; ++seed) {
        if (run(*machine, configuration, scenario, seed, false).empty()) continue;
        std::string const what = run(*machine, configuration, scenario, seed, true);
        return SeedFailure{seed, what, machine->trace().text()};
    }
    return {};
}

std::string replay_command(std::uint64_t seed) {
    auto const* const test = testing::UnitTest::GetInstance()->current_test_info();
    return fmt::format(
        "CARILLON_ADVERSARY_FIRST_SEED={} CARILLON_ADVERSARY_SEEDS=1 carillon_adversary_tests "
        "--gtest_filter={}.{}",
        seed, test->test_suite_name(), test->name());
}

}  // namespace

testing::AssertionResult holds_for_all_seeds(Configuration const& configuration,
                                             Scenario const& scenario) {
    Seeds const seeds{number_from("CARILLON_ADVERSARY_FIRST_SEED", 1),
                      number_from("CARILLON_ADVERSARY_SEEDS", 1000)};
    if (seeds.count == 0) return testing::AssertionFailure() << "no seeds";
    auto const failure = first_failure(seeds, configuration, scenario);
    if (!failure) return testing::AssertionSuccess();
    return testing::AssertionFailure()
           << failure->what << "\nseed " << failure->seed << " of " << name_of(configuration)
           << ", again with\n  " << replay_command(failure->seed)
           << "\nThe last events (step, side):\n"
           << failure->trace;
}

testing::AssertionResult fails_for_some_seed(Configuration const& configuration,
                                             std::string_view symptom, Scenario const& scenario) {
    auto const failure = first_failure({}, configuration, scenario);
    if (!failure) return testing::AssertionFailure() << "held for all seeds";
    bool const as_expected = failure->what.find(symptom) != std::string::npos;
    return testing::AssertionResult(as_expected) << failure->what << ", seed " << failure->seed;
}

}  // namespace carillon::test
