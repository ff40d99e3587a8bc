// SPDX-License-Identifier: Apache-2.0
// The handlers of a kernel's blocks, for its body: a copy of one handler for each block, or one
// that was made for it.
#pragma once

#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Trivially copyable if its functor is.
template <class Functor>
class Handlers {
   public:
    Handlers() requires requires { Functor{}; } : of_all_{} {
    }
    CARILLON_HD Handlers(Functor const& of_all) : of_all_(of_all) {}
    // `each` has every block's, in memory of the device until the block has started.
    explicit Handlers(Functor const* each) : each_(each), none_{} {}

    // The functor of the calling thread's block. All threads of the block call it, once.
    [[nodiscard]] CARILLON_HD Functor begin(unsigned block) const {
        Functor own = each_ == nullptr ? of_all_ : each_[block];
        begin_state(own);
        return own;
    }

   private:
    Functor const* each_ = nullptr;
    union {
        Functor of_all_;
        unsigned char none_[sizeof(Functor)];
    };
};

}  // namespace carillon::detail
