// SPDX-License-Identifier: Apache-2.0
// A CPU with a HostChannel and a block that serves it, from its start to its stop, as Relacy's
// threads.
#pragma once

#include <array>
#include <cstdint>

#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/ring_model.hpp"

namespace carillon::test {
using namespace detail;

class ModelClock {
   public:
    static void idle(std::uint32_t /*polls*/) { rl::yield(1, RL_INFO); }
    static void sleep(std::uint32_t /*ns*/) {}
    [[nodiscard]] static std::uint64_t now_ns() { return 0; }
    [[nodiscard]] static std::uint64_t ticks() { return 0; }
    [[nodiscard]] static std::uint32_t sm() { return 7; }
};

template <class M, class MessageType = Message>
class ChannelModel : public rl::test_suite<ChannelModel<M, MessageType>, 2> {
   public:
    static constexpr unsigned depth_limit = 100000;
    static constexpr std::uint32_t capacity = 2;
    static constexpr std::uint32_t calls = 3;

    void before() { memory_.begin(2 * capacity * slot_lines, words); }

    void thread(unsigned index) { index == 0 ? command() : run_block(); }

   private:
    using Message = MessageType;
    static constexpr std::uint32_t slot_lines = slot_lines_of<Message>;
    // The words: a control line, a status line and the two credits.
    static constexpr std::size_t words = 18;
    [[nodiscard]] ControlLine* control() { return reinterpret_cast<ControlLine*>(memory_.words()); }
    [[nodiscard]] StatusLine* status() {
        return reinterpret_cast<StatusLine*>(memory_.words() + 8);
    }
    [[nodiscard]] RingView requests() {
        return {memory_.lines(), memory_.words() + 16, capacity, 1, slot_lines};
    }
    [[nodiscard]] RingView replies() {
        return {memory_.lines() + capacity * slot_lines, memory_.words() + 17, capacity, 1,
                slot_lines};
    }

    // Answers request n with 100 + n. Both refer to data outside their lines.
    struct Handler {
        static constexpr bool out_of_line = true;
        ChannelModel& model;

        Message operator()(Message const& request) {
            std::uint32_t const number = request.word[0];
            RL_ASSERT(number < calls && request == Message::make(number));
            RL_ASSERT(model.asked_.at(number)(RL_INFO).load() == number);
            model.told_.at(number)(RL_INFO) = 100 + number;
            return Message::make(100 + number);
        }
    };

    using HostNear = typename M::HostNear;
    using HostFar = typename M::HostFar;
    using DeviceNear = typename M::DeviceNear;
    using DeviceFar = typename M::DeviceFar;

    void run_block() {
        auto const near = M::template make<DeviceNear>(memory_);
        auto const far = M::template make<DeviceFar>(memory_);
        DeviceChannel<Message, Message, DeviceNear, DeviceFar, FixedPages> channel(
            requests(), replies(), near, far);
        BasicBlockControl<DeviceNear, DeviceFar, ModelClock> block(control(), status(), 0,
                                                                   ModelClock(), near, far);
        Handler handler{*this};
        serve<Message, Message>(channel, handler, block);
    }

    void command() {
        HostNear const near = M::template make<HostNear>(memory_);
        HostFar const far = M::template make<HostFar>(memory_);
        await(&status()->started, near);
        FlagReader<std::uint64_t, HostNear> sm(&status()->sm, near);
        RL_ASSERT(sm.get() == ModelClock::sm());

        HostChannel<Message, Message, HostNear, HostFar> channel(requests(), replies(), near, far);
        while (answered_ < calls) {
            if (submitted_ < calls && submit(channel)) continue;
            if (answered_ == submitted_ || !take(channel)) rl::yield(1, RL_INFO);
        }
        FlagWriter<bool, HostFar>(&control()->stop, far).set(true);
        await(&status()->ended, near);
    }

    template <class Channel>
    bool submit(Channel& channel) {
        if (written_ == submitted_) {  // once, however often the request is tried
            asked_.at(written_)(RL_INFO) = written_;
            ++written_;
        }
        if (!channel.try_submit(Message::make(submitted_), OutOfLine::written)) return false;
        ++submitted_;
        return true;
    }

    template <class Channel>
    bool take(Channel& channel) {
        Packed<Message> reply;
        if (!channel.try_take(answered_ + 1, reply)) return false;
        RL_ASSERT(unpack<Message>(reply) == Message::make(100 + answered_));
        RL_ASSERT(told_.at(answered_)(RL_INFO).load() == 100 + answered_);
        ++answered_;
        return true;
    }

    ModelMemory memory_{M::quad_is, M::quads};
    std::array<rl::var<std::uint32_t>, calls> asked_;
    std::array<rl::var<std::uint32_t>, calls> told_;
    std::uint32_t written_ = 0;  // requests whose data are there
    std::uint32_t submitted_ = 0;
    std::uint32_t answered_ = 0;
};

}  // namespace carillon::test
