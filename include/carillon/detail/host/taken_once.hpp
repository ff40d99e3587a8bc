// SPDX-License-Identifier: Apache-2.0
// Checks that a device's end for one block of one kernel is given out once. An end counts messages
// from the first one on, so two ends, or two copies, would share messages or lose some.
#pragma once

#include <array>
#include <string_view>

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Two addresses of device memory that are among an end's bytes and in no other end; one address
// twice if the end has no second; none for an end that is not passed to kernels. An end is
// recognised by two addresses, because a handler's padding may have the rest of one.
struct EndAddresses {
    void const* first = nullptr;
    void const* second = nullptr;
};

// Records who took an end, for one thread at a time.
class TakenOnce {
   public:
    TakenOnce& operator=(TakenOnce&&) = delete;
    ~TakenOnce();

    // Throws UsageError, which names both takers, if the end was taken before. `giver` is the call
    // that gives it out. `other` is for an end with two parts, each of which counts for itself.
    void take(std::string_view giver, CodeLocation const& taker, EndAddresses const& addresses,
              EndAddresses const& other = {});

   private:
    CodeLocation first_{nullptr, 0};
    std::array<void const*, 2> addresses_{};
};

}  // namespace carillon::detail
