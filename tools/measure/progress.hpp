// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace carillon::tool {

// Is told now and then which share of a measurement is done, up to 1.
using Progress = std::function<void(double share_done)>;

}  // namespace carillon::tool
