// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <optional>

#include "command/ends.hpp"
#include "command/owner_options.hpp"
#include "metrics/metrics.hpp"
#include "metrics/metrics_endpoint.hpp"
#include "report/output.hpp"

namespace carillon::tool {
namespace {

class MetricsCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        owners_.add_to(command_line);
        listens_ = command_line
                       .add_option("--listen", listen_,
                                   "answer GET /metrics at HOST:PORT until SIGINT or SIGTERM; "
                                   ":PORT listens at every address, and port 0 takes a free port")
                       ->option_text("HOST:PORT");
    }

    void run() override {
        WatchedOwners owners(each_once(), "carillon metrics", owners_.timeout(), owners_.user());
        if (listens_->count() == 0) {
            fmt::print("{}", to_metrics(owners.ask()));
            return;
        }
        Ends ends;
        std::optional<MetricsEndpoint> endpoint;
        // The name of a host may take any time.
        ends.do_or_leave(
            [&] { endpoint.emplace(listen_, [&] { return to_metrics(owners.ask()); }); },
            [] { return 0; });
        fmt::print("metrics at {}\n", endpoint->address());
        flush_output_if_read();
        (void)ends.await();
        Ends::leave_at_once(0);  // without waiting for requests
    }

   private:
    // A series is given once.
    [[nodiscard]] std::vector<std::string> each_once() const {
        std::vector<std::string> paths;
        for (std::string const& path : owners_.paths()) {
            if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
        }
        return paths;
    }

    OwnerOptions owners_;
    std::string listen_;
    CLI::Option* listens_ = nullptr;
};

}  // namespace

std::unique_ptr<Command> make_metrics_command() { return std::make_unique<MetricsCommand>(); }

}  // namespace carillon::tool
