// SPDX-License-Identifier: Apache-2.0
// Who does something together, as a parameter: a thread by itself, or those of a block
// (block.hpp).
#pragma once

#include "carillon/detail/wire/config.hpp"

namespace carillon {

struct OneThread {
    [[nodiscard]] CARILLON_HD static unsigned thread() { return 0; }
    [[nodiscard]] CARILLON_HD static unsigned threads() { return 1; }
    CARILLON_HD static void barrier() {}
    template <class Shared>
    [[nodiscard]] CARILLON_HD static Shared& shared(Shared& own) {
        return own;
    }
};

}  // namespace carillon
