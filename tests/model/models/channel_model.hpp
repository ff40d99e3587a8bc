// SPDX-License-Identifier: Apache-2.0
// ChannelTraffic with the CPU and the block as Relacy's threads.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/waiting.hpp"
#include "model/models/ring_model.hpp"
#include "traffic/channel_traffic.hpp"

namespace carillon::test {
using namespace detail;

class ModelClock {
   public:
    static void idle(std::uint32_t /*polls*/) { rl::yield(1, RL_INFO); }
    static void sleep(std::uint32_t /*ns*/) {}
    [[nodiscard]] static std::uint64_t now_ns() { return 0; }
    [[nodiscard]] static std::uint64_t ticks() { return 0; }
    [[nodiscard]] static std::uint32_t sm() { return sm_in_test; }
};

// The calls of one client, with data both ways.
template <class Message, std::uint32_t calls, bool in_any_order_ = false>
class ModelCalls : public ModelWorld<0> {
   public:
    static constexpr bool requests_refer = true;
    static constexpr bool replies_refer = true;
    static constexpr bool in_any_order = in_any_order_;

    explicit ModelCalls(std::uint64_t first = 0) : traffic(*this, calls, first) {}
    ModelCalls(ModelCalls const&) = delete;  // its traffic refers to it
    ModelCalls& operator=(ModelCalls const&) = delete;

    // Submits as long as it can, then takes one.
    [[nodiscard]] ChannelStep draw_step() const {
        return submits_ && !traffic.all_submitted() ? ChannelStep::submit : ChannelStep::take;
    }
    void stepped(ChannelStep step, bool any) {
        submits_ = step == ChannelStep::submit ? any : true;
        if (step == ChannelStep::take) tried(any);
    }
    [[nodiscard]] static std::uint32_t choose(std::size_t /*count*/) { return 0; }
    [[nodiscard]] static bool hasty() { return false; }

    void write_request(std::uint64_t i) { asked_.at(i)(RL_INFO) = i; }
    void read_request(std::uint64_t i) { RL_ASSERT(asked_.at(i)(RL_INFO).load() == i); }
    void write_reply(std::uint64_t i) { told_.at(i)(RL_INFO) = ~i; }
    void read_reply(std::uint64_t i) { RL_ASSERT(told_.at(i)(RL_INFO).load() == ~i); }
    static void served(std::uint64_t /*i*/) {}
    template <class Near>
    static void await(Word const* word, Near const& near) {
        test::await(word, near);
    }
    static void settle() {}
    template <class Channel>
    static void await_all(Channel const& channel) {
        RL_ASSERT(channel.all_answered());
    }

   private:
    std::array<rl::var<std::uint64_t>, calls> asked_;
    std::array<rl::var<std::uint64_t>, calls> told_;
    bool submits_ = true;  // the last try had room

   public:
    ChannelTraffic<ModelCalls, Message, Message> traffic;
};

template <class M, class MessageType = Message>
class ChannelModel : public rl::test_suite<ChannelModel<M, MessageType>, 2> {
   public:
    static constexpr unsigned depth_limit = 100000;
    static constexpr std::uint32_t capacity = 2;

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
        auto handler = calls_.traffic.handler();
        serve<Message, Message>(channel, handler, block);
    }

    void command() {
        HostNear const near = M::template make<HostNear>(memory_);
        HostFar const far = M::template make<HostFar>(memory_);
        HostChannel<Message, Message, HostNear, HostFar> channel(requests(), replies(), near, far);
        calls_.traffic.command(channel, control(), status(), near, far);
    }

    ModelMemory memory_{M::quad_is, M::quads};
    ModelCalls<Message, 3> calls_;
};

}  // namespace carillon::test
