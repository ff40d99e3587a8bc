// SPDX-License-Identifier: Apache-2.0
#include "report/idle_states.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "support/temporary_directory.hpp"

namespace carillon::tool {
namespace {

void write(std::filesystem::path const& path, char const* text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
}

TEST(IdleStatesTest, statesOfAllCoresAreCountedByName) {
    test::TemporaryDirectory const folder;
    std::filesystem::path const cpus = folder.path();
    for (char const* cpu : {"cpu0", "cpu10"}) {
        write(cpus / cpu / "cpuidle/state0/name", "POLL");
        write(cpus / cpu / "cpuidle/state0/disable", "0");
        write(cpus / cpu / "cpuidle/state1/name", "C1");
        write(cpus / cpu / "cpuidle/state1/disable", "1");
        write(cpus / cpu / "cpuidle/state2/name", "C6");
    }
    write(cpus / "cpu10/cpuidle/state2/disable", "1");
    write(cpus / "cpuidle/current_driver", "intel_idle");
    write(cpus / "cpufreq/policy0/scaling_governor", "of no core");
    write(cpus / "cpu0/cpufreq/scaling_governor", "performance");
    nlohmann::json const states = idle_states(cpus);
    EXPECT_EQ(states["idle_states"].size(), 3U);
    EXPECT_EQ(states["idle_states"][2],
              (nlohmann::json{{"name", "C6"}, {"cores", 2}, {"disabled", 1}}));
    EXPECT_EQ(describe_idle_states(states),
              "C-states: POLL, C1 (disabled), C6 (disabled on 1 of 2); their driver: intel_idle; "
              "governor: performance");
}

TEST(IdleStatesTest, aMachineThatShowsNothingIsSaidToShowNothing) {
    test::TemporaryDirectory const folder;
    EXPECT_EQ(describe_idle_states(idle_states(folder.path())),
              "C-states: none visible; their driver: none visible; governor: none visible");
    EXPECT_EQ(describe_idle_states(idle_states(folder.path() / "not there")),
              describe_idle_states(idle_states(folder.path())));
}

}  // namespace
}  // namespace carillon::tool
