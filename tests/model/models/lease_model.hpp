// SPDX-License-Identifier: Apache-2.0
// Leases of a block, one after the other in the same memory, and objects that their owner sets, as
// Relacy's threads.
#pragma once

#include <array>
#include <cstdint>

#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "traffic/lease_traffic.hpp"

namespace carillon::test {
using namespace detail;

// The memory of a lease's line and status, and the policies that access it.
template <class M>
class LeaseMemory {
   public:
    void begin() { memory_.begin(0, 2 * sizeof(LeaseLine) / sizeof(Word)); }

    [[nodiscard]] LeaseTable table() {
        Word* const line = memory_.words();
        return {reinterpret_cast<LeaseLine*>(line),
                reinterpret_cast<LeaseStatus*>(line + sizeof(LeaseLine) / sizeof(Word)),
                ChannelShape{2}};
    }
    template <class Policy>
    [[nodiscard]] Policy make() {
        return M::template make<Policy>(memory_);
    }

   private:
    ModelMemory memory_{M::quad_is, M::quads};
};

// LeaseTraffic. The two words of the channel are not atomic: a lease that begins or ends without
// its order is a data race.
template <class M>
class LeaseModel : public rl::test_suite<LeaseModel<M>, 2>, public ModelWorld<0> {
   public:
    static constexpr unsigned depth_limit = 1000;

    void before() { memory_.begin(); }

    void thread(unsigned index) {
        if (index == 0) {
            traffic_.own(memory_.template make<typename M::HostNear>(),
                         memory_.template make<typename M::HostFar>());
        } else {
            traffic_.serve(memory_.template make<typename M::DeviceNear>(),
                           memory_.template make<typename M::DeviceFar>());
        }
    }

    LaidOut lay_out(std::uint64_t k) {
        laid_out_(RL_INFO) = k;
        return {nullptr, nullptr};
    }
    void take_back() { answered_(RL_INFO) = 0; }
    static void look(std::uint64_t /*k*/) {}
    [[nodiscard]] std::uint64_t laid_out(ChannelTable const& /*place*/) {
        return laid_out_(RL_INFO).load();
    }
    void answer(ChannelTable const& /*place*/, std::uint64_t k) { answered_(RL_INFO) = k; }
    [[nodiscard]] static bool answers_again() { return false; }

   private:
    LeaseMemory<M> memory_;
    LeaseTraffic<LeaseModel> traffic_{*this, memory_.table(), 2};
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

    void before() { memory_.begin(); }

    void thread(unsigned index) { index == 0 ? set() : take(); }

   private:
    void set() {
        LeaseWriter writer(memory_.table(), 0, memory_.template make<typename M::HostNear>(),
                           memory_.template make<typename M::HostFar>());
        for (Word number = 1; number <= last; ++number) {
            values_.at(number - 1)(RL_INFO) = number;
            writer.tell_own_set();
        }
    }

    // Looks as an end of the device does (leased_ends.hpp).
    void take() {
        LeaseReader const lease(memory_.table(), 0, memory_.template make<typename M::DeviceNear>(),
                                memory_.template make<typename M::DeviceFar>());
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

    LeaseMemory<M> memory_;
    std::array<rl::var<Word>, last> values_;
};

}  // namespace carillon::test
