// SPDX-License-Identifier: Apache-2.0
// A channel from end to end: the host submits, takes in any order and gives up; the device runs
// the serving loop until it is told to stop.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "adversary/machine/fiber_lanes.hpp"
#include "adversary/scenarios/channel_traffic.hpp"
#include "adversary/scenarios/ring_scenario.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/kernel/serve_long.hpp"

namespace carillon::test {
using namespace detail;

// One channel in the machine's memory, as in a ChannelTable's but for the size of a page. After its
// slots each memory has three lines for its words.
inline ChannelView lay_channel(Machine& machine, RingShape const& shape, std::uint32_t page_shift,
                               std::uint32_t first_line = 0, std::uint32_t request_lines = 1,
                               std::uint32_t reply_lines = 1) {
    Line* const requests = machine.device_lines() + first_line;
    Line* const replies = machine.host_lines() + first_line;
    PagePairs pages{nullptr, nullptr, page_shift};
    std::size_t const slots =
        std::size_t{2} * (PagePairs::pairs(shape.capacity, page_shift) << page_shift);
    Line* const control = requests + slots * request_lines;
    Line* const status = replies + std::size_t{shape.capacity} * reply_lines;
    pages.told = &status[2].quads[0].low;
    return {{requests, &status[1].quads[0].low, shape.capacity, shape.first, request_lines, pages},
            {replies, &control[1].quads[0].low, shape.capacity, shape.first, reply_lines},
            reinterpret_cast<ControlLine*>(control),
            reinterpret_cast<StatusLine*>(status)};
}

template <class Traffic = ChannelTraffic<Whole, Whole>>
class ChannelScenario {
   public:
    explicit ChannelScenario(Policies const& policies)
        : policies_(policies),
          machine_(policies.machine()),
          near_(Gpu(machine_)),
          far_(Traffic::far(machine_)),
          view_(draw_view()),
          channel_(view_.requests, view_.replies, policies.host_near(), policies.host_far()),
          words_(policies, Side::host),
          handler_(policies, view_.requests, words_),
          count_(12 + machine_.random().below(13)),
          hasty_(GpuBulkStores<Gpu> && machine_.random().one_in(4)) {
        DrawnPage::random = &machine_.random();
    }

    std::string run() {
        return machine_.run([this] { host(); }, [this] { device(); });
    }
    // The end on the device is a warp, whose lanes share messages.
    std::string run_with_lanes() {
        std::vector<Machine::Thread> threads{{Side::host, [this] { host(); }}};
        for (unsigned i = 0; i != LaneVotes::most; ++i) {
            threads.push_back({Side::device, [this, i] { lane(Lanes(votes_, shared_, i)); }});
        }
        return machine_.run(std::move(threads));
    }

   private:
    using Request = typename Traffic::Request;
    using Reply = typename Traffic::Reply;
    using Gpu = typename Traffic::Gpu;
    using Near = typename Traffic::Near;
    using Far = typename Traffic::Far;
    using Shared = carillon::detail::SharedMessages<Request, Reply>;
    using Lanes = SharingLanes<Shared>;
    using Control = BasicBlockControl<Near, Far, AdversaryClock>;
    struct Outstanding {
        Sequence number;
        std::uint64_t request;
    };

    // Sixteen lines of slots at most in either memory, so that there is room for words.
    ChannelView draw_view() {
        constexpr std::uint32_t request_lines = slot_lines_of<Request>;
        constexpr std::uint32_t reply_lines = slot_lines_of<Reply>;
        RingShape shape = RingShape::draw(machine_.random());
        shape.capacity = std::min({shape.capacity, 8 / request_lines, 16 / reply_lines});
        std::uint32_t const page_shift = machine_.random().below(request_lines < 4 ? 3 : 2);
        ChannelView const view =
            lay_channel(machine_, shape, page_shift, 0, request_lines, reply_lines);
        format_ring(view.requests);
        format_ring(view.replies);
        return view;
    }

    [[nodiscard]] Control control() const {
        return Control(view_.control, view_.status, 0, {}, near_, far_);
    }

    void device() {
        DeviceChannel<Request, Reply, Near, Far, DrawnPages> const channel(
            view_.requests, view_.replies, near_, far_);
        serve(channel, handler_, control());
    }

    void lane(Lanes lane) {
        LongChannel<Request, Reply, Near, Far, Lanes, DrawnPages> const channel(
            view_.requests, view_.replies, near_, far_, lane);
        serve_long(channel, handler_, control(), lane, shared_.of(lane.thread_rank()));
    }

    void host() {
        wait_for(&view_.status->started);
        auto const seen = reader<std::uint64_t>(&view_.status->sm).get();
        machine_.require(seen == sm_in_test, "started on SM {}", seen);
        while (submitted_ != count_ || !(hasty_ || outstanding_.empty())) {
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
        if (!hasty_) settle();
        FlagWriter<bool, Policies::HostFar>(&view_.control->stop, policies_.host_far()).set(true);
        wait_for(&view_.status->ended);
        machine_.require(!machine_.copies(), "a block that has ended is still writing");
        machine_.require(hasty_ || handler_.served() == count_, "{} requests served",
                         handler_.served());
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
        auto const number = channel_.try_submit(Request::make(submitted_), OutOfLine::written);
        if (!number) return;
        outstanding_.push_back({*number, submitted_++});
    }

    // Two to five requests with one fence, or as many as are left or fit.
    void submit_row() {
        std::vector<Request> row;
        std::uint64_t const wanted = submitted_ + 2 + machine_.random().below(4);
        for (std::uint64_t i = submitted_; i != std::min(wanted, count_); ++i) {
            words_.write(static_cast<std::uint32_t>(i), i + 1);
            row.push_back(Request::make(i));
        }
        Sequence number = channel_.next();
        std::size_t const sent = channel_.try_submit_n(row.data(), row.size(), OutOfLine::written);
        for (std::size_t i = 0; i < sent; ++i) outstanding_.push_back({number++, submitted_++});
    }

    void take_one() {
        if (outstanding_.empty()) return;
        auto const chosen = choose();
        Packed<Reply> reply;
        channel_.require_valid(chosen->number);
        if (!channel_.try_take(chosen->number, reply)) return;
        std::uint64_t const request = chosen->request;
        outstanding_.erase(chosen);
        machine_.require(unpack<Reply>(reply) == Reply::make(~request), "reply {} is wrong",
                         request);
        machine_.require(handler_.replied(request), "reply {} without data", request);
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
    Near near_;
    Far far_;
    ChannelView view_;
    HostChannel<Request, Reply, Policies::HostNear, Policies::HostFar> channel_;
    OutOfLineWords words_;
    AdversaryHandler<Traffic> handler_;
    LaneVotes votes_{machine_, LaneVotes::most};
    LaneMemory<Shared> shared_;
    std::uint64_t count_;
    bool hasty_;  // the host stops the block while replies are under way
    std::uint64_t submitted_ = 0;
    std::vector<Outstanding> outstanding_;
};

}  // namespace carillon::test
