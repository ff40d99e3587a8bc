// SPDX-License-Identifier: Apache-2.0
// A device's end for one block of one kernel, given out once. It counts from the first message on:
// two ends, or two copies, would share messages between them, or lose some.
#pragma once

#include <array>
#include <string_view>

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Two addresses of the device's memory that are among an end's bytes, and in no other end; one
// address twice if the end has no second. None for an end that is not passed to kernels. It takes
// two to recognise an end: a handler's padding may have the rest of one address.
struct EndAddresses {
    void const* first = nullptr;
    void const* second = nullptr;
};

// One thread at a time.
class TakenOnce {
   public:
    TakenOnce& operator=(TakenOnce&&) = delete;
    ~TakenOnce();

    // Throws UsageError, which names both takers, if the end was taken before. `giver` is the call
    // that gives it. `other` is for an end with two parts, each of which counts for itself.
    void take(std::string_view giver, CodeLocation const& taker, EndAddresses const& addresses,
              EndAddresses const& other = {});

   private:
    CodeLocation first_{nullptr, 0};
    std::array<void const*, 2> addresses_{};
};

}  // namespace carillon::detail
