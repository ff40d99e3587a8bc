// SPDX-License-Identifier: Apache-2.0
#include "command/time_option.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string_view>

namespace carillon::tool {
namespace {

struct Unit {
    std::string_view name;
    double ns;
};
constexpr std::array<Unit, 6> units{
    {{"h", 3.6e12}, {"min", 6e10}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

// Turns a time with a unit into seconds. CLI::AsNumberWithUnit would keep six digits of it. Returns
// the error, empty if there is none.
std::string to_seconds(std::string& text) {
    constexpr char const* letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string const name = text.substr(text.find_last_not_of(letters) + 1);
    auto const* const unit = std::ranges::find(units, name.empty() ? "s" : name, &Unit::name);
    if (unit == units.end()) {
        return fmt::format("{} unit not recognized: the units are ns, us, ms, s, min and h", name);
    }
    std::string const number = text.substr(0, text.size() - name.size());
    char* end = nullptr;
    double const value = std::strtod(number.c_str(), &end);
    bool const is_number =
        end != number.c_str() &&
        number.find_first_not_of(' ', static_cast<std::size_t>(end - number.c_str())) ==
            std::string::npos;
    if (!is_number) return fmt::format("'{}' is not a time", text);
    text = fmt::format("{:.17g}", value * unit->ns / 1e9);
    return "";
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
        return fmt::format("{} s is not a time from {} to {}", ns / 1e9, time_text(least),
                           time_text(most));
    };
    std::function<void(double const&)> const set = [&value](double const& seconds) {
        value = std::chrono::nanoseconds(std::llround(1e9 * seconds));
    };
    return command_line.add_option_function<double>(name, set, what)
        ->transform(CLI::Validator(to_seconds, ""))
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
