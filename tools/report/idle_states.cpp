// SPDX-License-Identifier: Apache-2.0
#include "report/idle_states.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string_view>
#include <system_error>
#include <vector>

#include "report/first_line.hpp"

namespace carillon::tool {
namespace {

using std::filesystem::path;

// The folders in `folder` that are called `prefix` and a number, in the order of these.
std::vector<path> numbered(path const& folder, std::string_view prefix) {
    std::vector<std::pair<unsigned long, path>> found;
    std::error_code error;
    for (auto const& each : std::filesystem::directory_iterator(folder, error)) {
        std::string const name = each.path().filename();
        std::string const number = name.substr(std::min(prefix.size(), name.size()));
        bool const digits = !number.empty() && number.size() < 10 &&
                            std::all_of(number.begin(), number.end(),
                                        [](unsigned char c) { return std::isdigit(c) != 0; });
        if (digits && name.starts_with(prefix)) found.emplace_back(std::stoul(number), each.path());
    }
    std::sort(found.begin(), found.end());
    std::vector<path> sorted;
    sorted.reserve(found.size());
    for (auto& [number, where] : found) sorted.push_back(std::move(where));
    return sorted;
}

// Counts one core's state among those of the others.
void add_state(nlohmann::json& states, std::string const& name, bool disabled) {
    auto same = std::find_if(states.begin(), states.end(),
                             [&](nlohmann::json const& each) { return each["name"] == name; });
    if (same == states.end()) {
        states.push_back({{"name", name}, {"cores", 0}, {"disabled", 0}});
        same = states.end() - 1;
    }
    (*same)["cores"] = (*same)["cores"].get<int>() + 1;
    if (disabled) (*same)["disabled"] = (*same)["disabled"].get<int>() + 1;
}

std::string describe(nlohmann::json const& state) {
    int const disabled = state["disabled"].get<int>();
    int const cores = state["cores"].get<int>();
    std::string name = state["name"].get<std::string>();
    if (disabled == 0) return name;
    if (disabled == cores) return name + " (disabled)";
    return fmt::format("{} (disabled on {} of {})", name, disabled, cores);
}

}  // namespace

nlohmann::json idle_states(path const& cpus) {
    nlohmann::json states = nlohmann::json::array();
    std::string governor;
    for (path const& cpu : numbered(cpus, "cpu")) {
        if (governor.empty()) governor = first_line_of_file(cpu / "cpufreq/scaling_governor");
        for (path const& state : numbered(cpu / "cpuidle", "state")) {
            std::string const name = first_line_of_file(state / "name");
            if (!name.empty())
                add_state(states, name, first_line_of_file(state / "disable") == "1");
        }
    }
    return {{"idle_driver", first_line_of_file(cpus / "cpuidle/current_driver")},
            {"governor", governor},
            {"idle_states", states}};
}

std::string describe_idle_states(nlohmann::json const& environment) {
    std::string names;
    for (nlohmann::json const& state : environment["idle_states"]) {
        names += (names.empty() ? "" : ", ") + describe(state);
    }
    auto const or_none = [&](char const* key) {
        auto const text = environment[key].get<std::string>();
        return text.empty() ? std::string("none visible") : text;
    };
    return fmt::format("C-states: {}; their driver: {}; governor: {}",
                       names.empty() ? "none visible" : names, or_none("idle_driver"),
                       or_none("governor"));
}

}  // namespace carillon::tool
