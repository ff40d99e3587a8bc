// SPDX-License-Identifier: Apache-2.0
// How a model's threads wait for each other.
#pragma once

#include <cstdint>

#include "carillon/detail/protocol/flag_protocol.hpp"
#include "model/machine/model_memory.hpp"
#include "model/machine/relacy.hpp"

namespace carillon::test {
using namespace detail;

// How often a thread tries in all: `bound` times, or with 0 for ever. Only a thread that goes on
// for ever lets others run, so that with a bound every execution is searched.
template <std::uint32_t bound>
struct Tries {
    static constexpr bool again(std::uint32_t tries) { return bound == 0 || tries < bound; }
    static void wait() {
        if (bound == 0) rl::yield(1, RL_INFO);
    }
};

// Waits until the flag is set.
template <class Near>
void await(Word const* word, Near const& near) {
    FlagReader<bool, Near> flag(word, near);
    while (!flag.get()) rl::yield(1, RL_INFO);
}

}  // namespace carillon::test
