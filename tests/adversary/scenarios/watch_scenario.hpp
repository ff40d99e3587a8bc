// SPDX-License-Identifier: Apache-2.0
// Several channels of one block: the host rings after each request, the device watches the
// doorbells.
#pragma once

#include <algorithm>
#include <deque>
#include <optional>
#include <vector>

#include "adversary/scenarios/channel_scenario.hpp"
#include "carillon/detail/kernel/watch.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;

// The calls of one channel: replies are taken in order.
template <class Request, class Reply>
class WatchedCalls : public AdversaryWorld {
   public:
    static constexpr bool requests_refer = false;
    static constexpr bool replies_refer = false;
    static constexpr bool in_any_order = false;

    WatchedCalls(Policies const& policies, std::uint64_t count, std::uint64_t first)
        : AdversaryWorld(policies), traffic(*this, count, first) {}

    [[nodiscard]] static std::size_t choose(std::size_t /*count*/) { return 0; }
    static void served(std::uint64_t /*i*/) {}

    ChannelTraffic<WatchedCalls, Request, Reply> traffic;
};

// The host's ends of one channel. Unlike HostChannel they let the reply ring fill.
template <class Request, class Reply>
struct WatchedEnds {
    using Requests = Producer<Request, Policies::HostFar, Policies::HostNear, TailDoorbell,
                              OneThread, ToldPages>;
    using Replies = Consumer<Reply, Policies::HostNear, Policies::HostFar>;

    Requests requests;
    Replies replies;

    std::optional<Sequence> try_submit(Request const& request, OutOfLine data) {
        Sequence const number = requests.next();
        return requests.try_push(request, data) ? std::optional(number) : std::nullopt;
    }
    bool try_take(Sequence /*number*/, Packed<Reply>& reply) { return replies.try_take(reply); }
    static void require_valid(Sequence /*number*/) {}
};

// The first lane of a warp whose others have no channels: it keeps its two in registers.
class FirstLane : public OneThread {
   public:
    static constexpr unsigned most = lanes_per_warp;
    [[nodiscard]] static unsigned size() { return lanes_per_warp; }
};

template <class Request = SizedWords<48>, class Reply = SizedWords<48>>
class WatchScenario {
   public:
    explicit WatchScenario(Policies const& policies)
        : policies_(policies),
          machine_(policies.machine()),
          count_(of_one_line ? 2 + machine_.random().below(2) : 2),
          in_registers_(count_ == 2 && machine_.random().one_in(2)),
          views_(draw_views()) {
        for (std::uint32_t c = 0; c < count_; ++c) {
            calls_.emplace_back(policies, 4 + machine_.random().below(5), (c + 1) * numbers_apart);
            ends_.push_back(
                {typename Ends::Requests(view(c).requests, policies.host_far(),
                                         policies.host_near(), TailDoorbell(doorbells() + c)),
                 typename Ends::Replies(view(c).replies, policies.host_near(),
                                        policies.host_far())});
        }
    }

    std::string run() {
        return machine_.run([this] { host(); }, [this] { device(); });
    }

   private:
    using Near = Policies::DeviceNear;
    using Far = Policies::DeviceFar;
    using Ends = WatchedEnds<Request, Reply>;
    using Calls = std::deque<WatchedCalls<Request, Reply>>;
    using Device = DeviceChannel<Request, Reply, Near, Far, DrawnPages>;
    static constexpr bool of_one_line = lines_of<Request> == 1 && lines_of<Reply> == 1;

    // Two slots, so that three channels and their doorbells are within the machine's memory, or two
    // where messages are of several lines.
    std::vector<ChannelView> draw_views() {
        constexpr std::uint32_t lines = of_one_line ? 6 : 13;
        Sequence const first = RingShape::draw(machine_.random()).first;
        std::uint32_t const page_shift = machine_.random().below(2);
        std::vector<ChannelView> views;
        for (std::uint32_t c = 0; c < count_; ++c) {
            views.push_back(lay_channel(machine_, {2, first}, page_shift, c * lines,
                                        slot_lines_of<Request>, slot_lines_of<Reply>));
            format_ring(views[c].requests);
            format_ring(views[c].replies);
            doorbells()[c] = first - 1;
        }
        return views;
    }

    [[nodiscard]] ChannelView const& view(std::uint32_t channel) const { return views_[channel]; }
    // The doorbells lie behind the channels.
    [[nodiscard]] std::uint64_t* doorbells() const {
        return reinterpret_cast<std::uint64_t*>(machine_.device_lines() + lines_per_memory - 1);
    }

    void device() {
        DrawnPage::random = &machine_.random();
        std::vector<Device> channels;
        for (std::uint32_t c = 0; c < count_; ++c) {
            channels.emplace_back(view(c).requests, view(c).replies, policies_.device_near(),
                                  policies_.device_far());
        }
        BasicBlockControl<Near, Far, AdversaryClock> const control(view(0).control, view(0).status,
                                                                   0, {}, policies_.device_near(),
                                                                   policies_.device_far());
        ChannelsHandler<Calls> handler{calls_};
        auto const serve = [&](auto lanes) {
            serve_watch(channels.data(), count_, doorbells(), handler, control,
                        policies_.device_near(), lanes);
        };
        if (in_registers_) {
            serve(FirstLane());
        } else {
            serve(OneThread());
        }
    }

    void host() {
        wait_for(&view(0).status->started);
        while (!all_taken()) {
            std::uint32_t const channel = machine_.random().below(count_);
            if (machine_.random().one_in(2)) {
                submit(channel);
            } else {
                take_one(channel);
            }
            machine_.pause(Side::host);
        }
        settle();
        FlagWriter<bool, Policies::HostFar>(&view(0).control->stop, policies_.host_far()).set(true);
        wait_for(&view(0).status->ended);
    }

    [[nodiscard]] bool all_taken() const {
        return std::all_of(calls_.begin(), calls_.end(),
                           [](auto const& calls) { return calls.traffic.all_taken(); });
    }

    void submit(std::uint32_t channel) {
        auto const& traffic = calls_[channel].traffic;
        auto const& replies = ends_[channel].replies;
        if (!calls_[channel].traffic.submit(ends_[channel])) return;
        bool const room = traffic.outstanding() + replies.held() <= replies.capacity();
        if (!room || !machine_.random().one_in(4)) return;
        // All submitted requests arrive without any further store by the host.
        while (traffic.served() != traffic.submitted()) machine_.pause(Side::host);
    }

    void take_one(std::uint32_t channel) {
        if (calls_[channel].traffic.outstanding() != 0) {
            calls_[channel].traffic.take(ends_[channel]);
            return;
        }
        Packed<Reply> reply;
        machine_.require(!ends_[channel].try_take(0, reply), "channel {} has a reply too many",
                         channel);
    }

    // A channel that has no news returns the credit that it holds.
    void settle() {
        for (std::uint32_t c = 0; c < count_; ++c) {
            Sequence const last = view(c).requests.first - 1 + calls_[c].traffic.submitted();
            while (machine_.arrived(view(c).requests.credit) != last) machine_.pause(Side::host);
        }
    }

    void wait_for(std::uint64_t const* word) const {
        FlagReader<bool, Policies::HostNear> const flag(word, policies_.host_near());
        while (!flag.get()) continue;  // each look is a step, and steps are limited
    }

    Policies const& policies_;
    Machine& machine_;
    std::uint32_t count_;
    bool in_registers_;
    std::vector<ChannelView> views_;
    Calls calls_;  // of each channel
    std::vector<Ends> ends_;
};

}  // namespace carillon::test
