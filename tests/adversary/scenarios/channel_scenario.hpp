// SPDX-License-Identifier: Apache-2.0
// A channel from end to end: the host submits, takes in any order and gives up; the device runs
// the serving loop until it is told to stop.
#pragma once

#include <algorithm>
#include <vector>

#include "adversary/scenarios/ring_scenario.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/serve.hpp"

namespace carillon::test {

inline constexpr std::uint64_t sm_in_test = 7;

struct AdversaryClock {
    static void idle(std::uint32_t /*polls*/) {}
    static void sleep(std::uint32_t /*ns*/) {}
    [[nodiscard]] static std::uint64_t now_ns() { return 0; }
    [[nodiscard]] static std::uint64_t ticks() { return 0; }
    [[nodiscard]] static std::uint32_t sm() { return sm_in_test; }
};

// Request i names a word for the device; the reply to it names one for the host.
class AdversaryHandler {
   public:
    static constexpr bool out_of_line = true;
    AdversaryHandler(Policies const& policies, OutOfLineWords const& requested)
        : machine_(policies.machine()), requested_(requested), replied_(policies, Side::device) {}

    Whole operator()(Whole const& request) {
        machine_.require(request == Whole::make(served_), "request {} is wrong", served_);
        auto const at = static_cast<std::uint32_t>(served_);
        machine_.require(requested_.read(at) == served_ + 1, "request {} without data", served_);
        replied_.write(at, ~served_);
        return Whole::make(~served_++);
    }
    [[nodiscard]] OutOfLineWords const& replied() const { return replied_; }
    [[nodiscard]] std::uint64_t served() const { return served_; }

   private:
    Machine& machine_;
    OutOfLineWords const& requested_;
    OutOfLineWords replied_;
    std::uint64_t served_ = 0;
};

// One channel in the machine's memory, as in a ChannelTable's but for the size of a page. After its
// slots each memory has three lines for its words.
inline ChannelView lay_channel(Machine& machine, RingShape const& shape, std::uint32_t page_shift,
                               std::uint32_t first_line = 0) {
    Line* const requests = machine.device_lines() + first_line;
    Line* const replies = machine.host_lines() + first_line;
    PagePairs pages{nullptr, nullptr, page_shift};
    std::size_t const request_lines =
        std::size_t{2} * (PagePairs::pairs(shape.capacity, page_shift) << page_shift);
    Line* const control = requests + request_lines;
    Line* const status = replies + shape.capacity;
    pages.told = &status[2].quads[0].low;
    return {{requests, &status[1].quads[0].low, shape.capacity, shape.first, 1, pages},
            {replies, &control[1].quads[0].low, shape.capacity, shape.first},
            reinterpret_cast<ControlLine*>(control),
            reinterpret_cast<StatusLine*>(status)};
}

class ChannelScenario {
   public:
    explicit ChannelScenario(Policies const& policies)
        : policies_(policies),
          machine_(policies.machine()),
          view_(draw_view()),
          channel_(view_.requests, view_.replies, policies.host_near(), policies.host_far()),
          words_(policies, Side::host),
          handler_(policies, words_),
          count_(12 + machine_.random().below(13)) {}

    std::string run() {
        return machine_.run([this] { host(); }, [this] { device(); });
    }

   private:
    using Near = Policies::DeviceNear;
    using Far = Policies::DeviceFar;
    struct Outstanding {
        Sequence number;
        std::uint64_t request;
    };

    ChannelView draw_view() {
        ChannelView const view =
            lay_channel(machine_, RingShape::draw(machine_.random()), machine_.random().below(3));
        format_ring(view.requests);
        format_ring(view.replies);
        return view;
    }

    void device() {
        DrawnPage::random = &machine_.random();
        DeviceChannel<Whole, Whole, Near, Far, DrawnPages> const channel(
            view_.requests, view_.replies, policies_.device_near(), policies_.device_far());
        BasicBlockControl<Near, Far, AdversaryClock> const control(
            view_.control, view_.status, 0, {}, policies_.device_near(), policies_.device_far());
        serve(channel, handler_, control);
    }

    void host() {
        wait_for(&view_.status->started);
        auto const seen = reader<std::uint64_t>(&view_.status->sm).get();
        machine_.require(seen == sm_in_test, "started on SM {}", seen);
        while (submitted_ != count_ || !outstanding_.empty()) {
            switch (machine_.random().below(8)) {
                case 0:
                    abandon_one();
                    break;
                case 1:
                case 2:
                case 3:
                    submit();
                    break;
                default:
                    take_one();
            }
            machine_.pause(Side::host);
        }
        settle();
        FlagWriter<bool, Policies::HostFar>(&view_.control->stop, policies_.host_far()).set(true);
        wait_for(&view_.status->ended);
        machine_.require(handler_.served() == count_, "{} requests served", handler_.served());
    }

    // Everything arrives, there and back, without any further store by the host.
    void settle() {
        Sequence const last = view_.requests.first - 1 + count_;
        while (handler_.served() != count_ || machine_.arrived(view_.requests.credit) != last) {
            machine_.pause(Side::host);
        }
    }

    void submit() {
        if (submitted_ == count_) return;
        if (machine_.random().one_in(2)) return submit_row();
        words_.write(static_cast<std::uint32_t>(submitted_), submitted_ + 1);
        auto const number = channel_.try_submit(Whole::make(submitted_), OutOfLine::written);
        if (!number) return;
        outstanding_.push_back({*number, submitted_++});
    }

    // Two to five requests with one fence, or as many as are left or fit.
    void submit_row() {
        std::vector<Whole> row;
        std::uint64_t const wanted = submitted_ + 2 + machine_.random().below(4);
        for (std::uint64_t i = submitted_; i != std::min(wanted, count_); ++i) {
            words_.write(static_cast<std::uint32_t>(i), i + 1);
            row.push_back(Whole::make(i));
        }
        Sequence number = channel_.next();
        std::size_t const sent = channel_.try_submit_n(row.data(), row.size(), OutOfLine::written);
        for (std::size_t i = 0; i < sent; ++i) outstanding_.push_back({number++, submitted_++});
    }

    void take_one() {
        if (outstanding_.empty()) return;
        auto const chosen = choose();
        Line line;
        channel_.require_valid("take", chosen->number);
        if (!channel_.try_take(chosen->number, line)) return;
        std::uint64_t const request = chosen->request;
        outstanding_.erase(chosen);
        machine_.require(unpack<Whole>(line) == Whole::make(~request), "reply {} is wrong",
                         request);
        machine_.require(handler_.replied().read(static_cast<std::uint32_t>(request)) == ~request,
                         "reply {} without data", request);
    }

    void abandon_one() {
        if (outstanding_.empty() || !machine_.random().one_in(4)) return;
        auto const chosen = choose();
        channel_.abandon(chosen->number);
        outstanding_.erase(chosen);
    }

    std::vector<Outstanding>::iterator choose() {
        auto const size = static_cast<std::uint32_t>(outstanding_.size());
        return outstanding_.begin() + machine_.random().below(size);
    }

    template <class T>
    FlagReader<T, Policies::HostNear> reader(std::uint64_t const* word) const {
        return FlagReader<T, Policies::HostNear>(word, policies_.host_near());
    }
    void wait_for(std::uint64_t const* word) const {
        while (!reader<bool>(word).get()) continue;  // each look is a step, and steps are limited
    }

    Policies const& policies_;
    Machine& machine_;
    ChannelView view_;
    HostChannel<Whole, Whole, Policies::HostNear, Policies::HostFar> channel_;
    OutOfLineWords words_;
    AdversaryHandler handler_;
    std::uint64_t count_;
    std::uint64_t submitted_ = 0;
    std::vector<Outstanding> outstanding_;
};

}  // namespace carillon::test
