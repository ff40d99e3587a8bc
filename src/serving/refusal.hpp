// SPDX-License-Identifier: Apache-2.0
// How the code of a server says no to a client.
#pragma once

#include <exception>
#include <string>

#include "carillon/error.hpp"

namespace carillon::detail {

// What is sent to whoever is refused. Thrown inside a server alone.
struct Refusal {
    RefusalReason reason;
    std::string text;
};

// Of what an error keeps from being done: `full` where the system, or the device, has no room now,
// which a client may wait for.
[[nodiscard]] Refusal refusal_of(std::exception const& error);

}  // namespace carillon::detail
