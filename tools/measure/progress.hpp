// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

namespace carillon::tool {

// Called now and then with the share of a measurement that is done, up to 1.
using Progress = std::function<void(double share_done)>;

}  // namespace carillon::tool
