// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "carillon/error.hpp"
#include "carillon/ring.hpp"
#include "errors.hpp"

namespace carillon::python {

// The direction that Python names. Throws UsageError.
[[nodiscard]] inline Direction direction_of(std::string const& name) {
    if (name == "to_device") return Direction::to_device;
    if (name == "to_host") return Direction::to_host;
    throw UsageError("a direction is \"to_device\" or \"to_host\", not \"" + name + '"');
}

}  // namespace carillon::python
