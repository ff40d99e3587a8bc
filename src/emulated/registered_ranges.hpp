// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "device/allocation.hpp"

namespace carillon::detail {

// Memory of the caller's that is registered with one device. The device's threads address it as the
// caller does; what is kept is which bytes these are, since CUDA registers none twice.
class RegisteredRanges {
   public:
    RegisteredRanges();

    // Registered until the allocation goes. Throws UsageError, in the name of `call`, where some of
    // it is already.
    [[nodiscard]] std::unique_ptr<Allocation> add(std::string_view call,
                                                  std::span<std::byte> bytes) const;

   private:
    class Ranges;
    class Registered;

    std::shared_ptr<Ranges> ranges_;  // outlives the device while memory does
};

}  // namespace carillon::detail
