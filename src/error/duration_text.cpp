// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/duration_text.hpp"

#include <fmt/format.h>

#include <cmath>

namespace carillon::detail {

std::string duration_text(std::chrono::nanoseconds duration) {
    auto const ns = static_cast<double>(duration.count());
    double const size = std::abs(ns);
    if (size == 0 || size >= 1e9) return fmt::format("{:.4g} s", ns / 1e9);
    if (size >= 1e6) return fmt::format("{:.4g} ms", ns / 1e6);
    if (size >= 1e3) return fmt::format("{:.4g} us", ns / 1e3);
    return fmt::format("{:.4g} ns", ns);
}

}  // namespace carillon::detail
