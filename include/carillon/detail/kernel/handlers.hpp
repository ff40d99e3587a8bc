// SPDX-License-Identifier: Apache-2.0
// The handlers of a kernel's blocks, as its body has them: a copy of one for each block, or one
// that was made for it.
#pragma once

#include "carillon/detail/kernel/block_state.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Trivially copyable, as its functor.
template <class Functor>
class Handlers {
   public:
    Handlers() requires requires { Functor{}; } : of_all_{} {
    }
    CARILLON_HD Handlers(Functor const& of_all) : of_all_(of_all) {}
    // `each`: of every block, in memory of the device's until the block has started.
    explicit Handlers(Functor const* each) : each_(each), none_{} {}

    // That of the calling thread's block. All threads of the block call it, once.
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
