// SPDX-License-Identifier: Apache-2.0
// Several channels of one block: the host rings after each request, the device watches the
// doorbells.
#pragma once

#include <array>
#include <vector>

#include "adversary/scenarios/channel_scenario.hpp"
#include "carillon/detail/kernel/watch.hpp"

namespace carillon::test {
using namespace detail;

// Channel c is asked with 100 c, 100 c + 1, ...; each request is answered with its complement.
template <class Request, class Reply>
class WatchHandler {
   public:
    static constexpr std::uint64_t apart = 100;

    explicit WatchHandler(Machine& machine) : machine_(machine) {}

    Reply operator()(Request const& request) {
        std::uint64_t const channel = channel_of(request);
        std::uint64_t const number = served_[channel]++;
        machine_.require(request == Request::make(apart * channel + number),
                         "request {} of channel {} is wrong", number, channel);
        return Reply::make(~(apart * channel + number));
    }
    [[nodiscard]] std::uint64_t served(std::uint32_t channel) const { return served_[channel]; }

   private:
    // The channel whose next request this is; a request of none counts as the first channel's.
    [[nodiscard]] std::uint64_t channel_of(Request const& request) const {
        for (std::uint64_t c = 1; c < served_.size(); ++c) {
            if (request == Request::make(apart * c + served_[c])) return c;
        }
        return 0;
    }

    Machine& machine_;
    std::array<std::uint64_t, 3> served_{};
};

// The first lane of a warp whose others have no channels: it keeps its two in registers.
class FirstLane : public OneThread {
   public:
    static constexpr unsigned most = lanes_per_warp;
    [[nodiscard]] static unsigned size() { return lanes_per_warp; }
};

template <class Request = Whole, class Reply = Whole>
class WatchScenario {
   public:
    explicit WatchScenario(Policies const& policies)
        : policies_(policies),
          machine_(policies.machine()),
          count_(of_one_line ? 2 + machine_.random().below(2) : 2),
          in_registers_(count_ == 2 && machine_.random().one_in(2)),
          views_(draw_views()),
          handler_(machine_) {
        for (std::uint32_t c = 0; c < count_; ++c) {
            requests_.push_back(4 + machine_.random().below(5));
            hosts_.push_back({Requests(view(c).requests, policies.host_far(), policies.host_near(),
                                       TailDoorbell(doorbells() + c)),
                              Replies(view(c).replies, policies.host_near(), policies.host_far())});
        }
    }

    std::string run() {
        return machine_.run([this] { host(); }, [this] { device(); });
    }

   private:
    using Near = Policies::DeviceNear;
    using Far = Policies::DeviceFar;
    using Handler = WatchHandler<Request, Reply>;
    using Device = DeviceChannel<Request, Reply, Near, Far, DrawnPages>;
    using Requests = Producer<Request, Policies::HostFar, Policies::HostNear, TailDoorbell,
                              OneThread, ToldPages>;
    using Replies = Consumer<Reply, Policies::HostNear, Policies::HostFar>;
    static constexpr bool of_one_line = lines_of<Request> == 1 && lines_of<Reply> == 1;
    // Unlike HostChannel it lets the reply ring fill.
    struct Host {
        Requests requests;
        Replies replies;
        std::uint64_t submitted = 0;
        std::uint64_t taken = 0;
    };

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
        auto const serve = [&](auto lanes) {
            serve_watch(channels.data(), count_, doorbells(), handler_, control,
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
        while (!all_answered()) {
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

    [[nodiscard]] bool all_answered() const {
        for (std::uint32_t c = 0; c < count_; ++c) {
            if (hosts_[c].taken != requests_[c]) return false;
        }
        return true;
    }

    void submit(std::uint32_t channel) {
        Host& host = hosts_[channel];
        if (host.submitted == requests_[channel]) return;
        Request const request = Request::make(Handler::apart * channel + host.submitted);
        if (!host.requests.try_push(request)) return;
        ++host.submitted;
        bool const room =
            host.submitted - host.taken + host.replies.held() <= host.replies.capacity();
        if (room && machine_.random().one_in(4)) await_served(channel);
    }

    // Waits until all submitted requests have arrived, without any further store by the host.
    void await_served(std::uint32_t channel) {
        while (handler_.served(channel) != hosts_[channel].submitted) machine_.pause(Side::host);
    }

    void take_one(std::uint32_t channel) {
        Host& host = hosts_[channel];
        Reply reply{};
        if (!host.replies.try_pop(reply)) return;
        std::uint64_t const number = host.taken++;
        machine_.require(reply == Reply::make(~(Handler::apart * channel + number)),
                         "reply {} of channel {} is wrong", number, channel);
    }

    // A channel that has no news returns the credit that it holds.
    void settle() {
        for (std::uint32_t c = 0; c < count_; ++c) {
            Sequence const last = view(c).requests.first - 1 + requests_[c];
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
    Handler handler_;
    std::vector<std::uint64_t> requests_;  // of each channel, how many there will be
    std::vector<Host> hosts_;
};

}  // namespace carillon::test
