// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <carillon/device.hpp>
#include <vector>

#include "build_info.hpp"
#include "command/common.hpp"
#include "info/info.hpp"
#include "report/device_report.hpp"

namespace carillon::tool {
namespace {

class InfoCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line
            .add_option(
                "--device", device_,
                std::string("show only this device: ") + Device::selectors() + " (default: all)")
            ->option_text("DEVICE");
        json_.add_to(command_line);
    }

    void run() override {
        json_.open();
        std::vector<DeviceInfo> const devices =
            device_ ? std::vector{Device::open(*device_).info()} : Device::list();
        std::string text = fmt::format("carillon {}, {} device code, {} device{}\n", version,
                                       have_device_code ? "with" : "without", devices.size(),
                                       devices.size() == 1 ? "" : "s");
        nlohmann::json all = nlohmann::json::array();
        for (DeviceInfo const& each : devices) {
            text += describe(each);
            all.push_back(to_json(each));
        }
        json_.print(text);
        json_.write(
            {{"version", version}, {"device_code", have_device_code}, {"devices", std::move(all)}});
    }

   private:
    std::optional<std::string> device_;
    JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_info_command() { return std::make_unique<InfoCommand>(); }

}  // namespace carillon::tool
