// SPDX-License-Identifier: Apache-2.0
// The base of each backend's loaded machine code.
#pragma once

namespace carillon::detail {

// Machine code that a device has loaded. It is unloaded when nobody has it and no kernel lives on
// the device.
class LoadedCode {
   public:
    virtual ~LoadedCode() = default;
    // A kernel, for Program::loaded. Throws CudaError.
    [[nodiscard]] virtual void* kernel(char const* name) const = 0;
};

}  // namespace carillon::detail
