// SPDX-License-Identifier: Apache-2.0
#include "command/time_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace carillon::tool {
namespace {

struct Unit {
    char const* name;
    double ns;
};
constexpr std::array<Unit, 6> units{
    {{"h", 3.6e12}, {"min", 6e10}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

std::map<std::string, double> seconds_by_unit() {
    std::map<std::string, double> all;
    for (Unit const& unit : units) all[unit.name] = unit.ns / 1e9;
    return all;
}

}  // namespace

CLI::Option* add_time(CLI::App& command_line, std::string const& name,
                      std::chrono::nanoseconds& value, std::chrono::nanoseconds least,
                      std::chrono::nanoseconds most, std::string const& what) {
    auto const out_of_range = [least, most](std::string const& text) -> std::string {
        double const ns = 1e9 * std::strtod(text.c_str(), nullptr);
        bool const fits =
            ns >= static_cast<double>(least.count()) && ns <= static_cast<double>(most.count());
        if (fits) return "";
        return fmt::format("{} s is not a time from {} to {}", text, time_text(least),
                           time_text(most));
    };
    std::function<void(double const&)> const set = [&value](double const& seconds) {
        value = std::chrono::nanoseconds(std::llround(1e9 * seconds));
    };
    return command_line.add_option_function<double>(name, set, what)
        ->transform(CLI::AsNumberWithUnit(seconds_by_unit()))
        ->check(out_of_range)
        ->option_text("TIME")
        ->default_str(time_text(value));
}

std::string time_text(std::chrono::nanoseconds time) {
    auto const ns = static_cast<double>(time.count());
    for (Unit const& unit : units) {
        bool const whole = std::fmod(ns, unit.ns) == 0;
        if (ns >= unit.ns && (whole || unit.ns <= 1e9)) {
            return fmt::format("{}{}", ns / unit.ns, unit.name);
        }
    }
    return "0s";
}

}  // namespace carillon::tool
