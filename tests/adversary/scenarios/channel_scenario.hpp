// SPDX-License-Identifier: Apache-2.0
// ChannelTraffic on the adversary's machine: the host submits, takes in any order and gives up; the
// device runs the serving loop until it is told to stop.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/fiber_lanes.hpp"
#include "adversary/scenarios/channel_messages.hpp"
#include "adversary/scenarios/ring_scenario.hpp"
#include "carillon/detail/kernel/serve_long.hpp"
#include "traffic/channel_traffic.hpp"

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

template <class Messages = ChannelMessages<Whole, Whole>>
class ChannelScenario : public AdversaryWorld {
   public:
    static constexpr bool requests_refer = true;
    static constexpr bool in_any_order = false;
    static constexpr bool replies_refer = Messages::replies_refer;

    explicit ChannelScenario(Policies const& policies)
        : AdversaryWorld(policies),
          policies_(policies),
          near_(Gpu(machine_)),
          far_(Messages::far(machine_)),
          view_(draw_view()),
          channel_(view_.requests, view_.replies, policies.host_near(), policies.host_far()),
          requested_(policies, Side::host),
          replied_(policies, Side::device),
          count_(12 + machine_.random().below(13)),
          hasty_(GpuBulkStores<Gpu> && machine_.random().one_in(4)),
          traffic_(*this, count_) {
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

    [[nodiscard]] ChannelStep draw_step() const {
        switch (machine_.random().below(8)) {
            case 0:
                return machine_.random().one_in(4) ? ChannelStep::abandon : ChannelStep::nothing;
            case 1:
            case 2:
            case 3:
                return machine_.random().one_in(2) ? ChannelStep::submit_row : ChannelStep::submit;
            default:
                return ChannelStep::take;
        }
    }
    [[nodiscard]] std::uint32_t choose(std::size_t count) const {
        return machine_.random().below(static_cast<std::uint32_t>(count));
    }
    [[nodiscard]] bool hasty() const { return hasty_; }

    void write_request(std::uint64_t i) const { requested_.write(word(i), i + 1); }
    void read_request(std::uint64_t i) const {
        require(requested_.read(word(i)) == i + 1, "request {} without data", i);
        if constexpr (!replies_refer) {
            for (std::uint32_t k = machine_.random().below(64); k != 0; --k) {
                machine_.pause(Side::device);  // and the next requests come meanwhile
            }
        }
    }
    void write_reply(std::uint64_t i) const { replied_.write(word(i), ~i); }
    void read_reply(std::uint64_t i) const {
        require(replied_.read(word(i)) == ~i, "reply {} without data", i);
    }
    void served(std::uint64_t i) const {
        if constexpr (Messages::branches) {
            // In whichever page the device looks; of the other it has seen nothing.
            machine_.decide(view_.requests.slot(view_.requests.first + i));
            machine_.decide(view_.requests.slot(view_.requests.first + i, ~PageWord{0}));
        }
    }
    template <class Near>
    void await(std::uint64_t const* word, Near const& near) const {
        FlagReader<bool, Near> flag(word, near);
        while (!flag.get()) continue;  // each look is a step, and steps are limited
    }
    void stepped(ChannelStep /*step*/, bool /*any*/) const { machine_.pause(Side::host); }
    // Everything arrives, there and back, without any further store by the host.
    void settle() const {
        Sequence const last = view_.requests.first - 1 + count_;
        while (traffic_.served() != count_ || machine_.arrived(view_.requests.credit) != last) {
            machine_.pause(Side::host);
        }
    }

   private:
    using Request = typename Messages::Request;
    using Reply = typename Messages::Reply;
    using Gpu = typename Messages::Gpu;
    using Near = typename Messages::Near;
    using Far = typename Messages::Far;
    using Shared = carillon::detail::SharedMessages<Request, Reply>;
    using Lanes = SharingLanes<Shared>;
    using Control = BasicBlockControl<Near, Far, AdversaryClock>;
    using Traffic = ChannelTraffic<ChannelScenario, Request, Reply>;

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
    static std::uint32_t word(std::uint64_t i) { return static_cast<std::uint32_t>(i); }

    [[nodiscard]] Control control() const {
        return Control(view_.control, view_.status, 0, {}, near_, far_);
    }

    void device() {
        DeviceChannel<Request, Reply, Near, Far, DrawnPages> const channel(
            view_.requests, view_.replies, near_, far_);
        auto handler = traffic_.handler();
        serve(channel, handler, control());
    }

    void lane(Lanes lane) {
        LongChannel<Request, Reply, Near, Far, Lanes, DrawnPages> const channel(
            view_.requests, view_.replies, near_, far_, lane);
        auto handler = traffic_.handler();
        serve_long(channel, handler, control(), lane, shared_.of(lane.thread_rank()));
    }

    void host() {
        traffic_.command(channel_, view_.control, view_.status, policies_.host_near(),
                         policies_.host_far());
        require(!machine_.copies(), "a block that has ended is still writing");
    }

    Policies const& policies_;
    Near near_;
    Far far_;
    ChannelView view_;
    HostChannel<Request, Reply, Policies::HostNear, Policies::HostFar> channel_;
    OutOfLineWords requested_;
    OutOfLineWords replied_;
    LaneVotes votes_{machine_, LaneVotes::most};
    LaneMemory<Shared> shared_;
    std::uint64_t count_;
    bool hasty_;  // the host stops the block while replies are under way
    Traffic traffic_;
};

}  // namespace carillon::test
