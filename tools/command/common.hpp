// SPDX-License-Identifier: Apache-2.0
// The options that all commands except `info` have.
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
    // Opens the device. A build without kernels for GPUs measures the emulated device instead of
    // the best one, and says so.
    [[nodiscard]] Device open() const;

    // Prints for people, unless the JSON goes to standard output.
    void print(std::string const& text) const;
    [[nodiscard]] bool wants_json() const { return !json_.empty(); }
    // Writes to the file that the option names, if any. The second adds the device that was
    // measured.
    void write(nlohmann::json const& result) const;
    void write(nlohmann::json result, DeviceInfo const& device) const;

   private:
    std::string device_ = "best";
    std::string json_;
};

// The error in the value of an option that names a file, empty if none, in the form that CLI11
// wants: "$UNSET" names no file, and differs from an option that was left out.
[[nodiscard]] std::string why_no_path(std::string const& text);

// Shows the progress on standard error if that is a terminal.
void show_progress(double share);

}  // namespace carillon::tool
