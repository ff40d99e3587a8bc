// SPDX-License-Identifier: Apache-2.0
#include "tune/tune.hpp"

namespace carillon::tool {

PlacementProfile run_tune(Device const& device, TuneOptions const& options) {
    return carillon::tune(device, options);
}

}  // namespace carillon::tool
