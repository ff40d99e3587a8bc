// SPDX-License-Identifier: Apache-2.0
#include "command/common.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>

#include "measure/open.hpp"
#include "report/environment.hpp"
#include "report/output.hpp"

namespace carillon::tool {

void CommonOptions::add_to(CLI::App& command_line) {
    command_line.add_option("--device", device_, Device::selectors());
    command_line.add_option("--json", json_, "also write the result here; - for standard output")
        ->check(why_no_path);
}

Device CommonOptions::open() const {
    auto [device, passed_over] = open_usable(device_);
    if (!passed_over.empty()) {
        fmt::print(stderr,
                   "carillon: this build has no device code (no nvcc): the emulated device is used "
                   "instead of {}\n",
                   passed_over);
    }
    return device;
}

void CommonOptions::print(std::string const& text) const {
    fmt::print(wants_json() && is_output(json_) ? stderr : stdout, "{}", text);
}

void CommonOptions::write(nlohmann::json const& result) const {
    if (wants_json()) write_json(json_, result);
}

void CommonOptions::write(nlohmann::json result, DeviceInfo const& device) const {
    if (!wants_json()) return;
    result["environment"] = environment(device);
    write_json(json_, result);
}

std::string why_no_path(std::string const& text) { return text.empty() ? "the path is empty" : ""; }

void show_progress(double share) {
    if (!is_drawable(STDERR_FILENO)) return;
    fmt::print(stderr, "\r{:3.0f} %{}", 100 * share, share >= 1 ? "\r      \r" : "");
}

}  // namespace carillon::tool
