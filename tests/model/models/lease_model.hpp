// SPDX-License-Identifier: Apache-2.0
// Leases of a block, one after the other in the same memory, as Relacy's threads.
#pragma once

#include <array>
#include <cstdint>

#include "carillon/detail/protocol/lease.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"

namespace carillon::test {
using namespace detail;

// A channel is two words: one that the owner lays out and the block reads, one that the block
// writes and the owner wipes. Neither is atomic: a lease that begins or ends without its order is a
// data race.
template <class M>
class LeaseModel : public rl::test_suite<LeaseModel<M>, 2> {
   public:
    static constexpr unsigned depth_limit = 1000;
    static constexpr std::uint64_t last = 2;

    void before() { memory_.begin(0, words); }

    void thread(unsigned index) { index == 0 ? own() : serve(); }

   private:
    static constexpr unsigned words = 2 * sizeof(LeaseLine) / sizeof(Word);

    [[nodiscard]] LeaseTable table() {
        Word* const line = memory_.words();
        return {reinterpret_cast<LeaseLine*>(line),
                reinterpret_cast<LeaseStatus*>(line + sizeof(LeaseLine) / sizeof(Word)),
                ChannelShape{2}};
    }

    void own() {
        LeaseWriter writer(table(), 0, M::template make<typename M::HostNear>(memory_),
                           M::template make<typename M::HostFar>(memory_));
        for (std::uint64_t k = 1; k <= last; ++k) {
            laid_out_(RL_INFO) = k;
            writer.begin({nullptr, nullptr, 1, ChannelShape{2}, k, nullptr, true});
            writer.end();
            while (!writer.over()) rl::yield(1, RL_INFO);
            answered_(RL_INFO) = 0;
        }
        // The last lease, which tells the block to end.
        writer.begin({nullptr, nullptr, 1, ChannelShape{2}, last + 1, nullptr, true});
    }

    void serve() {
        LeaseReader const lease(table(), 0, M::template make<typename M::DeviceNear>(memory_),
                                M::template make<typename M::DeviceFar>(memory_));
        Word seen = 0;
        for (;;) {
            Word const number = lease.number();
            RL_ASSERT(number >= seen);
            if (number == seen) {
                rl::yield(1, RL_INFO);
                continue;
            }
            seen = number;
            if (!is_leased(number)) {
                lease.report_free(number);
                continue;
            }
            Sequence const first = lease.place().first;
            RL_ASSERT(first == (number + 1) / 2);
            if (first > last) return;
            RL_ASSERT(laid_out_(RL_INFO).load() == first);
            answered_(RL_INFO) = first;
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    rl::var<Word> laid_out_;
    rl::var<Word> answered_;
};

// The owner itself sets an object that no client has. The values are not atomic, so a wrong order
// of news and value is a data race.
template <class M>
class OwnSetModel : public rl::test_suite<OwnSetModel<M>, 2> {
   public:
    static constexpr unsigned depth_limit = 1000;
    static constexpr Word last = 3;

    void before() { memory_.begin(0, 2 * sizeof(LeaseLine) / sizeof(Word)); }

    void thread(unsigned index) { index == 0 ? set() : take(); }

   private:
    [[nodiscard]] LeaseTable table() {
        Word* const line = memory_.words();
        return {reinterpret_cast<LeaseLine*>(line),
                reinterpret_cast<LeaseStatus*>(line + sizeof(LeaseLine) / sizeof(Word)),
                ChannelShape{2}};
    }

    void set() {
        LeaseWriter writer(table(), 0, M::template make<typename M::HostNear>(memory_),
                           M::template make<typename M::HostFar>(memory_));
        for (Word number = 1; number <= last; ++number) {
            values_.at(number - 1)(RL_INFO) = number;
            writer.tell_own_set();
        }
    }

    // Looks as an end of the device does (leased_ends.hpp).
    void take() {
        LeaseReader const lease(table(), 0, M::template make<typename M::DeviceNear>(memory_),
                                M::template make<typename M::DeviceFar>(memory_));
        for (Word seen = 0; seen != last;) {
            if (lease.look().own_sets == seen) {
                rl::yield(1, RL_INFO);
                continue;
            }
            Word const now = lease.own_sets();
            RL_ASSERT(now > seen && now <= last);
            for (; seen != now; ++seen) RL_ASSERT(values_.at(seen)(RL_INFO).load() == seen + 1);
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    std::array<rl::var<Word>, last> values_;
};

}  // namespace carillon::test
