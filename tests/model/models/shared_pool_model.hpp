// SPDX-License-Identifier: Apache-2.0
// A client of another process with a HostChannel and the blocks that share its requests, or the one
// that is alone, as Relacy's threads. Its lease has begun (lease_traffic.hpp has how).
#pragma once

#include <cstdint>

#include "carillon/detail/protocol/pool_places.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/models/channel_model.hpp"
#include "model/models/mpmc_ring_model.hpp"

namespace carillon::test {
using namespace detail;

// M: the host's policies, and what a quad is. Gpu: the blocks'.
template <class M, class Gpu, unsigned blocks = 2>
class SharedPoolModel : public rl::test_suite<SharedPoolModel<M, Gpu, blocks>, 1 + blocks> {
   public:
    static constexpr unsigned depth_limit = 100000;
    static constexpr std::uint32_t capacity = 2;
    static constexpr std::uint32_t calls = 3;
    // Over all executions of a search: blocks that were too late for a request.
    inline static std::uint64_t served_by_second = 0;

    void before() {
        // The words that the owner has written.
        Word* const lines = memory_.words();
        auto* const lease = reinterpret_cast<LeaseLine*>(lines);
        lease->number = 1;
        lease->in_device_memory = reinterpret_cast<Word>(requests().base);
        lease->in_host_memory = reinterpret_cast<Word>(replies().base);
        lease->first = first;
        lease->in_pairs = 0;
        lines[news_at] = 1;
        lines[taken_at] = first - 1;
        format_ring(requests());
        format_ring(replies());
        memory_.begin(2 * capacity, words);
    }

    void thread(unsigned index) { index == 0 ? command() : serve(index); }

   private:
    using HostNear = typename M::HostNear;
    using HostFar = typename M::HostFar;
    using DeviceNear = BasicDeviceNear<Gpu>;
    using DeviceFar = BasicDeviceFar<Gpu>;
    static constexpr Sequence first = (Sequence{1} << 32) - 1;
    // A lease's line, the news, the credit that the client returns, what was taken.
    static constexpr unsigned news_at = sizeof(LeaseLine) / sizeof(Word);
    static constexpr unsigned taken_at = sizeof(LeaseClaim) / sizeof(Word);
    static constexpr unsigned words = taken_at + 1;
    static_assert(news_at + 2 <= taken_at);

    [[nodiscard]] RingView requests() { return {memory_.lines(), &unused_, capacity, first}; }
    [[nodiscard]] RingView replies() {
        return {memory_.lines() + capacity, memory_.words() + news_at + 1, capacity, first};
    }

    void command() {
        calls_.traffic.command_pool(requests(), replies(), M::template make<HostNear>(memory_),
                                    M::template make<HostFar>(memory_));
    }

    void serve(unsigned block) {
        Gpu const gpu(memory_);
        LeaseTable const table{reinterpret_cast<LeaseLine*>(memory_.words()),
                               nullptr,
                               ChannelShape{capacity},
                               blocks,
                               memory_.words() + news_at,
                               reinterpret_cast<LeaseClaim*>(memory_.words() + taken_at)};
        PoolPlaces<Message, Message, DeviceNear, DeviceFar, PoolSweeps{2, 1024}> clients(
            table, 1, block - 1, DeviceNear(gpu), DeviceFar(gpu));
        while (calls_.traffic.served() != calls) {
            PoolRequest<Message> taken;
            if (!clients.try_take(taken)) {
                rl::yield(1, RL_INFO);
                continue;
            }
            Message const reply = calls_.traffic.serve(unpack<Message>(taken.message));
            if (block == 2) ++served_by_second;
            clients.answer(taken, pack(reply, 0), OutOfLine::written);
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    Word unused_ = 0;
    ModelCalls<Message, calls, true> calls_;
};

}  // namespace carillon::test
