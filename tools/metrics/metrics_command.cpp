// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <optional>

#include "command/ends.hpp"
#include "command/owner_user.hpp"
#include "metrics/metrics.hpp"
#include "metrics/metrics_endpoint.hpp"
#include "report/output.hpp"

namespace carillon::tool {
namespace {

class MetricsCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("paths", paths_, "sockets of owners")->required();
        listens_ = command_line.add_option(
            "--listen", listen_,
            "answer GET /metrics at HOST:PORT until SIGINT or SIGTERM; of a name: at its first "
            "address; without HOST: at every address; port 0: any that is free");
        command_line
            .add_option("--timeout-ms", timeout_ms_,
                        "how long an owner may take to be reached, and to report")
            ->check(CLI::Range(1, 60'000))
            ->capture_default_str();
        owner_user_.add_to(command_line);
    }

    void run() override {
        WatchedOwners owners(each_once(), "carillon metrics",
                             std::chrono::milliseconds(timeout_ms_), owner_user_.number());
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
        for (std::string const& path : paths_) {
            if (std::ranges::find(paths, path) == paths.end()) paths.push_back(path);
        }
        return paths;
    }

    std::vector<std::string> paths_;
    std::string listen_;
    CLI::Option* listens_ = nullptr;
    int timeout_ms_ = 1000;
    OwnerUser owner_user_;
};

}  // namespace

std::unique_ptr<Command> make_metrics_command() { return std::make_unique<MetricsCommand>(); }

}  // namespace carillon::tool
