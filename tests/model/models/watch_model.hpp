// SPDX-License-Identifier: Apache-2.0
// A CPU with two channels and a block that watches both by their doorbells, as Relacy's threads.
#pragma once

#include <array>
#include <cstdint>

#include "carillon/detail/kernel/watch.hpp"
#include "model/models/channel_model.hpp"

namespace carillon::test {
using namespace detail;

template <class M>
class WatchModel : public rl::test_suite<WatchModel<M>, 2> {
   public:
    static constexpr unsigned depth_limit = 100000;
    static constexpr std::uint32_t channels = 2;
    static constexpr std::uint32_t capacity = 2;

    void before() { memory_.begin(channels * 2 * capacity, words); }

    void thread(unsigned index) { index == 0 ? command() : run_block(); }

   private:
    using HostNear = typename M::HostNear;
    using HostFar = typename M::HostFar;
    using DeviceNear = typename M::DeviceNear;
    using DeviceFar = typename M::DeviceFar;
    using Host = HostChannel<Message, Message, HostNear, HostFar>;
    using Device = DeviceChannel<Message, Message, DeviceNear, DeviceFar, FixedPages>;
    using OneChannelsCalls = ModelCalls<Message, 3>;
    using Calls = std::array<OneChannelsCalls, channels>;

    // The words: a control line, a status line, a pair of doorbells and two credits for each
    // channel.
    static constexpr std::size_t words = 22;
    [[nodiscard]] ControlLine* control() { return reinterpret_cast<ControlLine*>(memory_.words()); }
    [[nodiscard]] StatusLine* status() {
        return reinterpret_cast<StatusLine*>(memory_.words() + 8);
    }
    [[nodiscard]] Word* doorbells() { return memory_.words() + 16; }
    [[nodiscard]] RingView requests(std::uint32_t channel) {
        return {memory_.lines() + 2 * channel * capacity, memory_.words() + 18 + 2 * channel,
                capacity, 1};
    }
    [[nodiscard]] RingView replies(std::uint32_t channel) {
        return {memory_.lines() + (2 * channel + 1) * capacity, memory_.words() + 19 + 2 * channel,
                capacity, 1};
    }

    void run_block() {
        auto const near = M::template make<DeviceNear>(memory_);
        auto const far = M::template make<DeviceFar>(memory_);
        std::array<Device, channels> watched{Device(requests(0), replies(0), near, far),
                                             Device(requests(1), replies(1), near, far)};
        BasicBlockControl<DeviceNear, DeviceFar, ModelClock> block(control(), status(), 0,
                                                                   ModelClock(), near, far);
        ChannelsHandler<Calls> handler{calls_};
        serve_watch(watched.data(), channels, doorbells(), handler, block, near);
    }

    void command() {
        HostNear const near = M::template make<HostNear>(memory_);
        HostFar const far = M::template make<HostFar>(memory_);
        await(&status()->started, near);
        std::array<Host, channels> hosts{Host(requests(0), replies(0), near, far, doorbells()),
                                         Host(requests(1), replies(1), near, far, doorbells() + 1)};
        for (bool answered = false; !answered;) {
            bool news = false;
            answered = true;
            for (std::uint32_t channel = 0; channel < channels; ++channel) {
                auto& traffic = calls_.at(channel).traffic;
                news |= traffic.submit(hosts.at(channel));
                news |= traffic.take(hosts.at(channel));
                answered &= traffic.all_taken();
            }
            if (!news) rl::yield(1, RL_INFO);
        }
        FlagWriter<bool, HostFar>(&control()->stop, far).set(true);
        await(&status()->ended, near);
    }

    ModelMemory memory_{M::quad_is, M::quads};
    Calls calls_{OneChannelsCalls(numbers_apart), OneChannelsCalls(2 * numbers_apart)};
};

}  // namespace carillon::test
