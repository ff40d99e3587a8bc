// SPDX-License-Identifier: Apache-2.0
// The CPU cores on which a thread runs.
#pragma once

#include <sched.h>

#include <vector>

#include "carillon/device_info.hpp"

namespace carillon {

// The cores that the calling thread may run on, as Linux numbers its logical processors.
[[nodiscard]] std::vector<unsigned> allowed_cores();

// The allowed cores near the device: on the package or memory node of its PCI slot. Returns all
// allowed cores for the emulated device, and on a machine that does not say where the slot is.
[[nodiscard]] std::vector<unsigned> cores_near(DeviceInfo const& info);

// Pins the calling thread to one core. The destructor restores the cores it might run on before.
class OnCore {
   public:
    // Throws UsageError for a core that this process may not use, SystemError.
    explicit OnCore(unsigned core);
    OnCore& operator=(OnCore&&) = delete;
    ~OnCore();

   private:
    cpu_set_t before_{};
};

}  // namespace carillon
