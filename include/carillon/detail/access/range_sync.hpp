// SPDX-License-Identifier: Apache-2.0
// Flush and invalidate, for access policies.
#pragma once

#include <cstddef>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// Makes writes to non-coherent mapped memory reach it, and reads see it. Memory implements it; a
// policy has a pointer to one, or nullptr if the memory is coherent. Ranges are widened to whole
// atoms (VkPhysicalDeviceLimits::nonCoherentAtomSize).
class RangeSync {
   public:
    virtual void flush(void const* where, std::size_t size) const = 0;
    virtual void invalidate(void const* where, std::size_t size) const = 0;

   protected:
    ~RangeSync() = default;
};

}  // namespace carillon::detail
