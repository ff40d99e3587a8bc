// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <optional>
#include <vector>

#include "command/ends.hpp"
#include "command/owner_user.hpp"
#include "report/environment.hpp"
#include "report/output.hpp"
#include "top/screen.hpp"
#include "top/top.hpp"

namespace carillon::tool {
namespace {

class TopCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("paths", paths_, "sockets of owners")->required();
        command_line.add_option("--interval", interval_, "seconds from one look to the next")
            ->check(CLI::Range(0.05, 3600.0))
            ->capture_default_str();
        auto* const count =
            command_line.add_option("--count", count_, "ends after so many looks; 0: never")
                ->check(CLI::Range(0, 1'000'000'000))
                ->capture_default_str();
        command_line.add_flag("--once", once_, "looks once, without rates")->excludes(count);
        command_line
            .add_option("--timeout-ms", timeout_ms_,
                        "how long an owner may take to be reached, and to report")
            ->check(CLI::Range(1, 60'000))
            ->capture_default_str();
        owner_user_.add_to(command_line);
        command_line.add_flag("--json", json_, "as JSON on standard output, a line for each look");
    }

    void run() override {
        WatchedOwners owners(paths_, "carillon top", std::chrono::milliseconds(timeout_ms_),
                             owner_user_.number());
        Ends ends;
        bool const draws = !once_ && !json_ && Screen::there();
        std::optional<Screen> screen;
        if (draws) screen.emplace();
        int const looks = once_ ? 1 : count_;
        std::vector<OwnerReport> before;
        for (int i = 1;; ++i) {
            std::vector<OwnerReport> now;
            auto const leave = [&] {
                screen.reset();
                return 0;
            };
            ends.do_or_leave([&] { now = owners.ask(); }, leave, draws);
            show(before, now, draws);
            before = std::move(now);
            if (i == looks || ends.come_within(period(), draws)) return;
        }
    }

   private:
    [[nodiscard]] std::chrono::milliseconds period() const {
        return std::chrono::ceil<std::chrono::milliseconds>(
            std::chrono::duration<double>(interval_));
    }
    void show(std::vector<OwnerReport> const& before, std::vector<OwnerReport> const& now,
              bool draws) const {
        if (json_) {
            using Json = nlohmann::json;
            fmt::print("{}\n",
                       to_json(before, now).dump(-1, ' ', false, Json::error_handler_t::replace));
        } else if (draws) {
            Screen::draw(fmt::format("carillon top: every {} s, q leaves\n\n", interval_) +
                         to_text(before, now));
        } else {
            fmt::print("{}\n", to_text(before, now));
        }
        flush_output();
    }

    std::vector<std::string> paths_;
    double interval_ = 1;
    int count_ = 0;
    int timeout_ms_ = 1000;
    OwnerUser owner_user_;
    bool once_ = false;
    bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_top_command() { return std::make_unique<TopCommand>(); }

}  // namespace carillon::tool
