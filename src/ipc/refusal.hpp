// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "carillon/error.hpp"

namespace carillon::detail {

// What is sent to whoever is refused. Thrown inside a server alone.
struct Refusal {
    RefusalReason reason;
    std::string text;
};

}  // namespace carillon::detail
