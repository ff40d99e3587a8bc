// SPDX-License-Identifier: Apache-2.0
// On which of the machine's cores a thread runs.
#pragma once

#include <sched.h>

#include <vector>

#include "carillon/device_info.hpp"

namespace carillon {

// The cores that the calling thread may run on, by the numbers that Linux gives its logical
// processors.
[[nodiscard]] std::vector<unsigned> allowed_cores();

// Those of them that are near the device: on the package or memory node that its PCI slot hangs on.
// All of them for the emulated device, and on a machine that does not show where the slot is.
[[nodiscard]] std::vector<unsigned> cores_near(DeviceInfo const& info);

// Keeps the calling thread on one core, and lets it back to where it might run before.
class OnCore {
   public:
    // Throws UsageError for a core that this process has not, SystemError.
    explicit OnCore(unsigned core);
    OnCore(OnCore const&) = delete;
    OnCore& operator=(OnCore const&) = delete;
    ~OnCore();

   private:
    cpu_set_t before_{};
};

}  // namespace carillon
