// SPDX-License-Identifier: Apache-2.0
// The options that commands share, and helpers with which commands add options of their own.
#pragma once

#include <CLI/CLI.hpp>
#include <carillon/device.hpp>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "command/command.hpp"
#include "command/json_option.hpp"
#include "command/progress.hpp"

namespace carillon::tool {

// `--device` and `--json` of a command that measures or checks a device.
class CommonOptions {
   public:
    void add_to(CLI::App& command_line);

    [[nodiscard]] std::string const& selector() const { return device_; }
    // Opens the file of --json, and then the device. A build without kernels for GPUs measures the
    // emulated device instead of the best one, and says so.
    [[nodiscard]] Device open();
    // open(), for a command that can end early: see end_at_interrupt().
    [[nodiscard]] Device open_for_measurement();

    [[nodiscard]] JsonOption& json() { return json_; }
    void print(std::string const& text) { json_.print(text); }
    [[nodiscard]] bool wants_json() const { return json_.wanted(); }
    // Writes the document, if it is wanted. The second adds the device that was measured.
    void write(nlohmann::json const& result) { json_.write(result); }
    void write(nlohmann::json result, DeviceInfo const& device);

   private:
    std::string device_ = "best";
    JsonOption json_;
};

// Adds `--device`.
CLI::Option* add_device(CLI::App& command_line, std::string& selector);

// Adds an option whose value is a number from `least` to `most`; `value` has the default.
template <class T, class Limit>
CLI::Option* add_number(CLI::App& command_line, std::string const& name, T& value, Limit least,
                        Limit most, std::string const& what) {
    return command_line.add_option(name, value, what)
        ->check(CLI::Range(least, most))
        ->option_text("N");
}

// Adds `--rounds` of a command whose measures take turns.
template <class T>
CLI::Option* add_rounds(CLI::App& command_line, T& rounds) {
    return add_number(command_line, "--rounds", rounds, 1U, 1000U,
                      "let the measures take turns in N rounds");
}

// The error in a number that is not a power of two, in the form that CLI11 wants.
[[nodiscard]] std::string why_not_power_of_two(std::string const& text);

// Adds `--capacity`.
template <class T>
CLI::Option* add_capacity(CLI::App& command_line, T& capacity) {
    return command_line
        .add_option("--capacity", capacity, "give each ring N slots, a power of two")
        ->check(why_not_power_of_two)
        ->option_text("N");
}

// The error in the value of an option that names a file, empty if none, in the form that CLI11
// wants: "$UNSET" names no file, and differs from an option that was left out.
[[nodiscard]] std::string why_no_path(std::string const& text);

}  // namespace carillon::tool
