// SPDX-License-Identifier: Apache-2.0
// Copies from end to end: every block copies ranges that the host asks for, from memory that the
// host has written to memory that the host reads, and answers.
#pragma once

#include <algorithm>
#include <vector>

#include "adversary/scenarios/channel_scenario.hpp"
#include "carillon/detail/host/copy_queue.hpp"
#include "carillon/detail/kernel/copy_blocks.hpp"

namespace carillon::test {
using namespace detail;

class CopyScenario {
   public:
    explicit CopyScenario(Policies const& policies)
        : policies_(policies),
          machine_(policies.machine()),
          blocks_(1 + machine_.random().below(2)),
          views_(draw_views()),
          from_(policies, Side::host),
          to_(policies, Side::device),
          count_(12 + machine_.random().below(13)),
          queue_(policies.host_far(), machine_.device_lines(), lines_per_memory * sizeof(Line)) {
        for (ChannelView const& view : views_) {
            queue_.add_block(
                Queue::Requests(view.requests, policies.host_far(), policies.host_near()),
                Queue::Replies(view.replies, policies.host_near(), policies.host_far()));
        }
    }

    std::string run() {
        std::vector<Machine::Thread> threads{{Side::host, [this] { host(); }}};
        for (unsigned i = 0; i != blocks_; ++i) {
            threads.push_back({Side::device, [this, i] { device(i); }});
        }
        return machine_.run(std::move(threads));
    }

   private:
    using Near = Policies::DeviceNear;
    using Far = Policies::DeviceFar;
    using Control = BasicBlockControl<Near, Far, AdversaryClock>;
    using Queue = carillon::detail::CopyQueue<Policies::HostNear, Policies::HostFar>;
    using Request = carillon::detail::CopyRequest;

    // Two slots, so that both channels fit into the machine's memory beside the words. In one run:
    // the ring's scenario covers pairs of pages.
    std::vector<ChannelView> draw_views() {
        constexpr std::uint32_t lines = 8;
        Sequence const first = RingShape::draw(machine_.random()).first;
        std::vector<ChannelView> views;
        for (unsigned i = 0; i != blocks_; ++i) {
            ChannelView view = lay_channel(machine_, {2, first}, 0, i * lines);
            view.requests.pages = {};
            format_ring(view.requests);
            format_ring(view.replies);
            views.push_back(view);
        }
        return views;
    }

    void device(unsigned block) {
        ChannelView const view = views_[block];
        Control const control(view.control, view.status, 0, {}, policies_.device_near(),
                              policies_.device_far());
        carillon::detail::CopyWarp<OneThread, Near, Far, Control> warp(
            view, control, OneThread(), policies_.device_near(), policies_.device_far());
        warp.report_started();
        for (;;) {
            Request work{};
            warp.serve_until_work(work);
            if (work.size == 0) break;
            auto const i = static_cast<std::uint32_t>(work.from);
            to_.write(i, ~from_.read(i));
            to_.write(second(i), ~from_.read(second(i)));
            warp.complete();
        }
        warp.report_ended();
    }

    // Some copies leave together; some are waited for without any further store by the host.
    void host() {
        std::uint64_t checked = 0;
        while (checked != count_) {
            if (machine_.random().one_in(2)) ask(1 + machine_.random().below(3));
            bool const rests = machine_.random().one_in(4);
            do {
                queue_.take_replies();
                while (checked != queue_.done()) check(static_cast<std::uint32_t>(checked++));
                machine_.pause(Side::host);
            } while (rests && checked != queue_.sent());
        }
        for (unsigned i = 0; i != blocks_; ++i) end(views_[i]);
    }

    // Asks for up to `most` copies. Writes the data of all of them before it asks for the first.
    void ask(std::uint32_t most) {
        auto const first = static_cast<std::uint32_t>(queue_.sent());
        auto const last = static_cast<std::uint32_t>(std::min<std::uint64_t>(first + most, count_));
        for (std::uint32_t i = std::max(first, written_); i < last; ++i) {
            from_.write(i, i + 1);
            from_.write(second(i), ~std::uint64_t{i});
        }
        written_ = std::max(written_, last);
        for (std::uint32_t i = first; i != last; ++i) {
            bool const full = queue_.was_full();
            bool const sent = queue_.try_send({i, i + 1, 1});
            machine_.require(sent || full, "a block with room refuses copy {}", i);
            if (!sent) break;
        }
        if (queue_.sent() != first) queue_.commit();
    }

    void check(std::uint32_t i) const {
        std::uint64_t const other = to_.read(second(i));
        std::uint64_t const one = to_.read(i);
        machine_.require(one == ~std::uint64_t{i + 1} && other == i, "copy {} is not there", i);
    }

    void end(ChannelView const& view) const {
        FlagWriter<bool, Policies::HostFar>(&view.control->stop, policies_.host_far()).set(true);
        FlagReader<bool, Policies::HostNear> const ended(&view.status->ended,
                                                         policies_.host_near());
        while (!ended.get()) continue;  // each look is a step, and steps are limited
    }

    static constexpr std::uint32_t second(std::uint32_t i) { return i + OutOfLineWords::count / 2; }

    Policies const& policies_;
    Machine& machine_;
    unsigned blocks_;
    std::vector<ChannelView> views_;
    OutOfLineWords from_;
    OutOfLineWords to_;
    std::uint64_t count_;
    Queue queue_;
    std::uint32_t written_ = 0;
};

}  // namespace carillon::test
