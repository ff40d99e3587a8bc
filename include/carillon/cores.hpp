// SPDX-License-Identifier: Apache-2.0
// Chooses the CPU cores of threads, for programs that pin threads that call or poll.
#pragma once

#include <sched.h>

#include <vector>

#include "carillon/device_info.hpp"

namespace carillon {

// Returns the cores that the calling thread may run on, by Linux's numbers of logical processors.
[[nodiscard]] std::vector<unsigned> allowed_cores();

// Returns the allowed cores near the device: on the package or memory node of its PCI slot. Returns
// all allowed cores for the emulated device, and if the machine does not report the slot's place.
[[nodiscard]] std::vector<unsigned> cores_near(DeviceInfo const& info);

// Pins the calling thread to one core. The destructor allows the earlier cores again.
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
