// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <optional>
#include <vector>

#include "command/ends.hpp"
#include "command/json_option.hpp"
#include "command/owner_options.hpp"
#include "command/time_option.hpp"
#include "report/output.hpp"
#include "top/screen.hpp"
#include "top/top.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class TopCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        owners_.add_to(command_line);
        add_time(command_line, "--interval", interval_, 50ms, 1h, "ask again every TIME");
        auto* const count =
            command_line.add_option("--count", count_, "end after N reports; 0: never")
                ->check(CLI::Range(0, 1'000'000'000))
                ->option_text("N");
        command_line.add_flag("--once", once_, "show one report, without rates, and end")
            ->excludes(count);
        json_.add_to(command_line);
    }

    void run() override {
        json_.open();
        WatchedOwners owners(owners_.paths(), "carillon top", owners_.timeout(), owners_.user());
        Ends ends;
        bool const draws = !once_ && !json_.takes_standard_output() && Screen::there();
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
            if (i == looks) break;
            auto const period = std::chrono::ceil<std::chrono::milliseconds>(interval_);
            if (ends.come_within(period, draws)) return;
        }
        screen.reset();
        require_answers("top", before);
    }

   private:
    void show(std::vector<OwnerReport> const& before, std::vector<OwnerReport> const& now,
              bool draws) {
        int const gets_text = json_.takes_standard_output() ? STDERR_FILENO : STDOUT_FILENO;
        std::string const text = to_text(before, now, output_width(gets_text));
        json_.write_line(to_json(before, now));
        if (draws) {
            Screen::draw(fmt::format("carillon top: every {}, q leaves\n\n", time_text(interval_)) +
                         text);
            flush_output();
        } else {
            json_.print(text + '\n');
        }
    }

    OwnerOptions owners_;
    std::chrono::nanoseconds interval_ = 1s;
    int count_ = 0;
    bool once_ = false;
    JsonOption json_;
};

}  // namespace

std::unique_ptr<Command> make_top_command() { return std::make_unique<TopCommand>(); }

}  // namespace carillon::tool
