// SPDX-License-Identifier: Apache-2.0
// A client that submits beside a drain, as Relacy's threads. Here the asymmetric fence is a full
// fence on both sides: membarrier(2) promises that.
#pragma once

#include "carillon/detail/machine/process_fence.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"

namespace carillon::test {

struct FullFences {
    static void light() { rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO); }
    static void heavy() { rl::atomic_thread_fence(rl::mo_seq_cst, RL_INFO); }
};

// The thread that drains serves the requests, too: a request that comes after its last look is not
// served.
template <class Fences>
class DrainModel : public rl::test_suite<DrainModel<Fences>, 2> {
   public:
    static constexpr unsigned depth_limit = 1000;
    static constexpr Word last = 2;

    void before() {
        memory_.begin(0, 3);
        sent_ = served_ = 0;
    }

    void thread(unsigned index) { index == 0 ? submit() : drain(); }

    void after() { RL_ASSERT(sent_ == served_); }

   private:
    [[nodiscard]] Word* announced() { return memory_.words(); }
    [[nodiscard]] Word* draining() { return memory_.words() + 1; }
    [[nodiscard]] Word* request() { return memory_.words() + 2; }

    void submit() {
        QuadsOfWords const words(memory_);
        for (Word number = 1; number <= last; ++number) {
            detail::announce(announced(), number, words, Fences());
            if (words.load(draining(), rl::mo_relaxed) != 0) {
                words.store(announced(), number - 1, rl::mo_relaxed);
                return;
            }
            words.store(request(), number, rl::mo_release);
            sent_ = number;
        }
    }

    void drain() {
        QuadsOfWords const words(memory_);
        words.store(draining(), 1, rl::mo_relaxed);
        detail::hear_announced(Fences());
        for (;;) {
            Word const announced = words.load(this->announced(), rl::mo_relaxed);
            served_ = words.load(request(), rl::mo_acquire);
            if (served_ == announced) return;
            rl::yield(1, RL_INFO);
        }
    }

    ModelMemory memory_{QuadIs::two_accesses, all_quads};
    Word sent_ = 0;  // of one thread each, and looked at after them
    Word served_ = 0;
};

}  // namespace carillon::test
