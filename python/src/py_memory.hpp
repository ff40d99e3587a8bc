// SPDX-License-Identifier: Apache-2.0
// Memory of a device, as Python has it: shared with every view of it.
#pragma once

#include <memory>

#include "carillon/device.hpp"
#include "carillon/memory.hpp"

namespace carillon::python {

class SharedMemory {
   public:
    SharedMemory(Device device, Memory memory);

    // Throws UsageError, in the name of `call`, once it was freed.
    [[nodiscard]] Memory const& get() const { return *share(); }
    // A view calls it: the memory stays while the view has this.
    [[nodiscard]] std::shared_ptr<Memory> const& share() const;
    // For a caller that takes the address and keeps this object, but cannot be counted: the memory
    // stays as long as this object then, freed or not.
    [[nodiscard]] Memory const& lend();

    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] bool freed() const { return freed_; }
    [[nodiscard]] long views() const { return memory_ ? memory_.use_count() - 1 : 0; }
    // Throws UsageError while there are views. Nothing happens the second time.
    void free();

   private:
    Device device_;
    std::shared_ptr<Memory> memory_;
    bool lent_ = false;
    bool freed_ = false;
};

}  // namespace carillon::python
