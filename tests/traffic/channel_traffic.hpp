// SPDX-License-Identifier: Apache-2.0
// What goes over a channel, in every world, from the block's start to its stop. Request i names
// data for the block; the reply to it may name data for the host. Every request is served once and
// in order, and gets its own reply.
#pragma once

#include <algorithm>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/serve.hpp"

namespace carillon::test {
using namespace detail;

inline constexpr std::uint64_t sm_in_test = 7;

// What the host does next.
enum class ChannelStep : std::uint8_t { submit, submit_row, take, abandon, nothing };

// A world says what the protocol leaves open:
//   draw_step(), choose(count)  what the host does now; with which of its requests
//   hasty()  whether the host stops the block while replies are under way
//   write_request(i), read_request(i), write_reply(i), read_reply(i)  data that messages name
//   replies_refer  whether replies have data
//   served(i)  the block has seen request i
//   await(word, near)  waits for a flag of the block
//   stepped(step, any), settle()  the host has made a step; it has had all replies
template <class World, class Request, class Reply>
class ChannelTraffic {
   public:
    class Handler {
       public:
        static constexpr bool out_of_line = World::replies_refer;

        explicit Handler(ChannelTraffic& traffic) : traffic_(&traffic) {}
        Reply operator()(Request const& request) { return traffic_->serve(request); }

       private:
        ChannelTraffic* traffic_;
    };

    ChannelTraffic(World& world, std::uint64_t count) : world_(world), count_(count) {}

    template <class Channel, class Near, class Far>
    void command(Channel& channel, ControlLine* control, StatusLine const* status, Near const& near,
                 Far const& far) {
        world_.await(&status->started, near);
        std::uint64_t const sm = FlagReader<std::uint64_t, Near>(&status->sm, near).get();
        world_.require(sm == sm_in_test, "started on SM {}", sm);
        while (!all_submitted() || !(world_.hasty() || outstanding_.empty())) {
            ChannelStep const step = world_.draw_step();
            world_.stepped(step, make(step, channel));
        }
        if (!world_.hasty()) world_.settle();
        FlagWriter<bool, Far>(&control->stop, far).set(true);
        world_.await(&status->ended, near);
        world_.require(world_.hasty() || served_ == count_, "{} requests served", served_);
    }

    [[nodiscard]] Handler handler() { return Handler(*this); }
    [[nodiscard]] bool all_submitted() const { return submitted_ == count_; }
    [[nodiscard]] std::uint64_t served() const { return served_; }

   private:
    static constexpr std::size_t most = 24;
    struct Outstanding {
        Sequence number;
        std::uint64_t request;
    };

    // Whether anything came of it.
    template <class Channel>
    bool make(ChannelStep step, Channel& channel) {
        switch (step) {
            case ChannelStep::submit:
                return submit(channel);
            case ChannelStep::submit_row:
                return submit_row(channel);
            case ChannelStep::take:
                return take(channel);
            case ChannelStep::abandon:
                return abandon(channel);
            default:
                return false;
        }
    }

    template <class Channel>
    bool submit(Channel& channel) {
        if (all_submitted()) return false;
        world_.write_request(submitted_);
        auto const number = channel.try_submit(Request::make(submitted_), OutOfLine::written);
        if (!number) return false;
        outstanding_.push_back({*number, submitted_++});
        return true;
    }

    // Two to five requests with one fence, or as many as are left or fit.
    template <class Channel>
    bool submit_row(Channel& channel) {
        if (all_submitted()) return false;
        boost::container::static_vector<Request, 5> row;
        std::uint64_t const wanted = submitted_ + 2 + world_.choose(4);
        for (std::uint64_t i = submitted_; i != std::min(wanted, count_); ++i) {
            world_.write_request(i);
            row.push_back(Request::make(i));
        }
        Sequence number = channel.next();
        std::size_t const sent = channel.try_submit_n(row.data(), row.size(), OutOfLine::written);
        for (std::size_t i = 0; i < sent; ++i) outstanding_.push_back({number++, submitted_++});
        return sent != 0;
    }

    template <class Channel>
    bool take(Channel& channel) {
        if (outstanding_.empty()) return false;
        std::size_t const chosen = world_.choose(outstanding_.size());
        Outstanding const taken = outstanding_.at(chosen);
        Packed<Reply> reply;
        channel.require_valid(taken.number);
        if (!channel.try_take(taken.number, reply)) return false;
        outstanding_.erase(outstanding_.begin() + chosen);
        world_.require(unpack<Reply>(reply) == Reply::make(~taken.request), "reply {} is wrong",
                       taken.request);
        if constexpr (World::replies_refer) world_.read_reply(taken.request);
        return true;
    }

    template <class Channel>
    bool abandon(Channel& channel) {
        if (outstanding_.empty()) return false;
        std::size_t const chosen = world_.choose(outstanding_.size());
        channel.abandon(outstanding_.at(chosen).number);
        outstanding_.erase(outstanding_.begin() + chosen);
        return true;
    }

    Reply serve(Request const& request) {
        world_.require(served_ < count_ && request == Request::make(served_), "request {} is wrong",
                       served_);
        world_.served(served_);
        world_.read_request(served_);
        if constexpr (World::replies_refer) world_.write_reply(served_);
        return Reply::make(~served_++);
    }

    World& world_;
    std::uint64_t count_;
    std::uint64_t submitted_ = 0;
    boost::container::static_vector<Outstanding, most> outstanding_;
    std::uint64_t served_ = 0;  // the host knows it, past the world's memory
};

}  // namespace carillon::test
