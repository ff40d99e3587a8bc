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
    static constexpr std::uint32_t calls = 3;  // through each channel

    void before() { memory_.begin(channels * 2 * capacity, words); }

    void thread(unsigned index) { index == 0 ? command() : run_block(); }

   private:
    using HostNear = typename M::HostNear;
    using HostFar = typename M::HostFar;
    using DeviceNear = typename M::DeviceNear;
    using DeviceFar = typename M::DeviceFar;
    using Host = HostChannel<Message, Message, HostNear, HostFar>;
    using Device = DeviceChannel<Message, Message, DeviceNear, DeviceFar, FixedPages>;

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

    // Request n of channel c is 10 c + n + 1, and the reply to it 100 more: no line in memory that
    // is still zero passes for one. Both refer to data outside their lines.
    struct Handler {
        static constexpr bool out_of_line = true;
        WatchModel& model;
        std::array<std::uint32_t, channels> served{};

        Message operator()(Message const& request) {
            std::uint32_t const channel = request.word[0] / 10;
            RL_ASSERT(channel < channels && served[channel] < calls);
            std::uint32_t const number = 10 * channel + ++served[channel];
            RL_ASSERT(request == Message::make(number));
            RL_ASSERT(model.asked_.at(number)(RL_INFO).load() == number);
            model.told_.at(number)(RL_INFO) = 100 + number;
            return Message::make(100 + number);
        }
    };

    void run_block() {
        auto const near = M::template make<DeviceNear>(memory_);
        auto const far = M::template make<DeviceFar>(memory_);
        std::array<Device, channels> watched{Device(requests(0), replies(0), near, far),
                                             Device(requests(1), replies(1), near, far)};
        BasicBlockControl<DeviceNear, DeviceFar, ModelClock> block(control(), status(), 0,
                                                                   ModelClock(), near, far);
        Handler handler{*this};
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
                news |= submit(hosts[channel], channel);
                news |= take(hosts[channel], channel);
                answered &= answered_[channel] == calls;
            }
            if (!news) rl::yield(1, RL_INFO);
        }
        FlagWriter<bool, HostFar>(&control()->stop, far).set(true);
        await(&status()->ended, near);
    }

    bool submit(Host& host, std::uint32_t channel) {
        if (submitted_[channel] == calls) return false;
        std::uint32_t const number = 10 * channel + submitted_[channel] + 1;
        if (written_[channel] == submitted_[channel]) {  // once, however often it is tried
            asked_.at(number)(RL_INFO) = number;
            ++written_[channel];
        }
        if (!host.try_submit(Message::make(number), OutOfLine::written)) return false;
        ++submitted_[channel];
        return true;
    }

    bool take(Host& host, std::uint32_t channel) {
        Line line;
        if (answered_[channel] == submitted_[channel] ||
            !host.try_take(answered_[channel] + 1, line)) {
            return false;
        }
        std::uint32_t const number = 10 * channel + ++answered_[channel];
        RL_ASSERT(unpack<Message>(line) == Message::make(100 + number));
        RL_ASSERT(told_.at(number)(RL_INFO).load() == 100 + number);
        return true;
    }

    static constexpr std::size_t numbers = 10 * (channels - 1) + calls + 1;
    ModelMemory memory_{M::quad_is, M::quads};
    std::array<rl::var<std::uint32_t>, numbers> asked_;
    std::array<rl::var<std::uint32_t>, numbers> told_;
    // Requests of each channel, as the CPU counts them: with their data written, sent, answered.
    std::array<std::uint32_t, channels> written_{};
    std::array<std::uint32_t, channels> submitted_{};
    std::array<std::uint32_t, channels> answered_{};
};

}  // namespace carillon::test
