// SPDX-License-Identifier: Apache-2.0
// A device's end that one kernel uses, given out once: it counts from the first message on, so that
// two of them would share messages out between them, or lose some.
#pragma once

#include <string_view>

#include "carillon/detail/machine/code_location.hpp"
#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// One thread at a time.
class TakenOnce {
   public:
    // Throws UsageError, in the name of `call`, when it was taken before, and names both takers.
    void take(std::string_view call, CodeLocation const& taker);

   private:
    CodeLocation first_{nullptr, 0};
};

}  // namespace carillon::detail
