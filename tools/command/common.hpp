// SPDX-License-Identifier: Apache-2.0
// The options that all commands have but `info`, and what they mean.
#pragma once

#include <carillon/device.hpp>
#include <nlohmann/json.hpp>
#include <string>

#include "command/command.hpp"

namespace carillon::tool {

class CommonOptions {
   public:
    void add_to(CLI::App& command_line);

    [[nodiscard]] std::string const& selector() const { return device_; }
    // Opens the device; a build without kernels for GPUs measures the emulated one instead of the
    // best, and says so.
    [[nodiscard]] Device open() const;

    // For people. Standard output is the JSON's alone when it goes there.
    void print(std::string const& text) const;
    [[nodiscard]] bool wants_json() const { return !json_.empty(); }
    // Where it is wanted; the second adds what it was measured on.
    void write(nlohmann::json const& result) const;
    void write(nlohmann::json result, DeviceInfo const& device) const;

   private:
    std::string device_ = "best";
    std::string json_;
};

// What is wrong with the value of an option that names a file, as CLI11 asks for it: "$UNSET" names
// none, and is not an option that was left out.
[[nodiscard]] std::string why_no_path(std::string const& text);

// Shows it on standard error, if somebody watches.
void show_progress(double share);

}  // namespace carillon::tool
