// SPDX-License-Identifier: Apache-2.0
#include "command/common.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "measure/interrupt.hpp"
#include "measure/open.hpp"
#include "report/environment.hpp"

namespace carillon::tool {

CLI::Option* add_device(CLI::App& command_line, std::string& selector) {
    return command_line
        .add_option("--device", selector, std::string("open this device: ") + Device::selectors())
        ->option_text("DEVICE");
}

void CommonOptions::add_to(CLI::App& command_line) {
    add_device(command_line, device_);
    json_.add_to(command_line);
}

Device CommonOptions::open() {
    json_.open();
    auto [device, passed_over] = open_usable(device_);
    if (!passed_over.empty()) {
        fmt::print(stderr,
                   "carillon: this build has no device code (no nvcc): the emulated device is used "
                   "instead of {}\n",
                   passed_over);
    }
    return device;
}

Device CommonOptions::open_for_measurement() {
    end_at_interrupt();
    Device device = open();
    start_progress();
    return device;
}

void CommonOptions::write(nlohmann::json result, DeviceInfo const& device) {
    if (!wants_json()) return;
    result["environment"] = environment(device);
    json_.write(std::move(result));
}

std::string why_not_power_of_two(std::string const& text) {
    int const base = text.find_first_of("xX") != std::string::npos ? 16 : 10;
    bool const is_one = std::has_single_bit(std::strtoull(text.c_str(), nullptr, base));
    return is_one ? "" : text + " is not a power of two";
}

std::string why_no_path(std::string const& text) { return text.empty() ? "the path is empty" : ""; }

}  // namespace carillon::tool
