// SPDX-License-Identifier: Apache-2.0
// `carillon metrics`: the counts of everything that owners serve, for Prometheus.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "command/command.hpp"
#include "report/owners.hpp"

namespace carillon::tool {

inline constexpr char const* metrics_type = "text/plain; version=0.0.4; charset=utf-8";

// The text exposition format, version 0.0.4. An owner that was not asked is `carillon_up 0`.
[[nodiscard]] std::string to_metrics(std::vector<OwnerReport> const& reports);

// A label's value between its quotes: any bytes, as UTF-8, with all escaped that would end it.
[[nodiscard]] std::string label_value(std::string const& bytes);

[[nodiscard]] std::unique_ptr<Command> make_metrics_command();

}  // namespace carillon::tool
