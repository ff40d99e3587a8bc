// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <carillon/device.hpp>
#include <vector>

#include "build_info.hpp"
#include "info/info.hpp"
#include "report/device_report.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

class InfoCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("--device", device_, "only this one");
        command_line
            .add_option("--json", json_,
                        "as JSON, into this file; without one, or with -, on standard output")
            ->expected(0, 1)
            ->default_str("-");
    }

    void run() override {
        std::vector<DeviceInfo> const devices =
            device_ ? std::vector{Device::open(*device_).info()} : Device::list();
        json_ ? write(devices) : print(devices);
    }

   private:
    void write(std::vector<DeviceInfo> const& devices) const {
        nlohmann::json all = nlohmann::json::array();
        for (DeviceInfo const& each : devices) all.push_back(to_json(each));
        write_json(*json_,
                   {{"version", version}, {"device_code", have_device_code}, {"devices", all}});
    }

    static void print(std::vector<DeviceInfo> const& devices) {
        fmt::print("carillon {}, device code: {}\n", version, have_device_code ? "yes" : "no");
        for (DeviceInfo const& each : devices) fmt::print("{}", describe(each));
    }

    std::optional<std::string> device_;
    std::optional<std::string> json_;
};

}  // namespace

std::unique_ptr<Command> make_info_command() { return std::make_unique<InfoCommand>(); }

}  // namespace carillon::tool
