// SPDX-License-Identifier: Apache-2.0
// The arguments of the commands that ask owners: their sockets, `--timeout` and `--owner-user`.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command/command.hpp"

namespace CLI {
class Option;
}

namespace carillon::tool {

class OwnerOptions {
   public:
    void add_to(CLI::App& command_line);
    [[nodiscard]] std::vector<std::string> const& paths() const { return paths_; }
    // For reaching an owner, and for its report.
    [[nodiscard]] std::chrono::nanoseconds timeout() const { return timeout_; }
    // The value for ConnectOptions::owner_user. Throws UsageError if no user has the name.
    [[nodiscard]] std::optional<std::uint32_t> user() const;

   private:
    std::vector<std::string> paths_;
    std::chrono::nanoseconds timeout_ = std::chrono::seconds(1);
    std::string user_;
    CLI::Option* user_option_ = nullptr;
};

void require_answers(char const* call, std::size_t silent, std::size_t all);
// Throws Error, which counts them, if there are reports of owners that did not answer.
template <class Report>
void require_answers(char const* call, std::vector<Report> const& reports) {
    auto const silent =
        std::ranges::count_if(reports, [](Report const& each) { return !each.error.empty(); });
    require_answers(call, static_cast<std::size_t>(silent), reports.size());
}

}  // namespace carillon::tool
