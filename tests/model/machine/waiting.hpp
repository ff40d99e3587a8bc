// SPDX-License-Identifier: Apache-2.0
// How a model's threads wait for each other, and Relacy as a world of tests/traffic.
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

// What every model of a traffic needs. `bound`: as above, of each thread.
template <std::uint32_t bound>
class ModelWorld {
   public:
    template <class... Values>
    static void require(bool holds, char const* text, Values const&... /*values*/) {
        if (!holds) rl::ctx().fail_test(text, rl::test_result_user_assert_failed, RL_INFO);
    }
    [[nodiscard]] static bool goes_on(std::uint32_t tries) { return Tries<bound>::again(tries); }
    static void tried(bool any) {
        if (!any) Tries<bound>::wait();
    }
};

// Waits until the flag is set.
template <class Near>
void await(Word const* word, Near const& near) {
    FlagReader<bool, Near> flag(word, near);
    while (!flag.get()) rl::yield(1, RL_INFO);
}

}  // namespace carillon::test
