// SPDX-License-Identifier: Apache-2.0
// What goes over a channel, in every world. Request i may name data for the block; the reply to it
// may name data for the host. Every request is served once, and gets its own reply. One block
// serves requests in order.
#pragma once

#include <algorithm>
#include <array>
#include <boost/container/static_vector.hpp>
#include <cstddef>
#include <cstdint>

#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/serve.hpp"

namespace carillon::test {
using namespace detail;

inline constexpr std::uint64_t sm_in_test = 7;

// Any block serves a pool's client: so the client's counters are its own memory, not the world's.
template <class Near>
struct NearWithCounters : Near {
    NearWithCounters(Near const& near, CounterWords* own) : Near(near), counters(own) {}

    CounterWords* counters;

    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        if (from == &counters->taken) return CounterWords::load(counters->taken);
        return Near::load_word(from);
    }
};

// What the host does next.
enum class ChannelStep : std::uint8_t { submit, submit_row, take, abandon, nothing };

// A world says what the protocol leaves open:
//   draw_step(), choose(count)  what the host does now; with which of its requests: for command()
//       and command_pool(), as hasty() and stepped() are
//   hasty()  whether the host stops the block while replies are under way
//   write_request(i), read_request(i), write_reply(i), read_reply(i)  data that messages name
//   requests_refer, replies_refer  whether they have data
//   in_any_order  whether blocks may serve requests in any order
//   served(i)  the block has seen request i
//   await(word, near)  waits for a flag of the block
//   stepped(step, any), settle()  the host has made a step; it has had all replies
//   await_all(channel)  waits until a pool has answered all
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

    // Request 0 has the number `first`.
    ChannelTraffic(World& world, std::uint64_t count, std::uint64_t first = 0)
        : world_(world), first_(first), count_(count) {}

    template <class Channel, class Near, class Far>
    void command(Channel& channel, ControlLine* control, StatusLine const* status, Near const& near,
                 Far const& far) {
        world_.await(&status->started, near);
        std::uint64_t const sm = FlagReader<std::uint64_t, Near>(&status->sm, near).get();
        world_.require(sm == sm_in_test, "started on SM {}", sm);
        exchange(channel);
        if (!world_.hasty()) world_.settle();
        FlagWriter<bool, Far>(&control->stop, far).set(true);
        world_.await(&status->ended, near);
        world_.require(world_.hasty() || served_ == count_, "{} requests served", served_);
    }

    // As a client of a pool, whose lease has begun.
    template <class Near, class Far>
    void command_pool(RingView requests, RingView const& replies, Near const& near,
                      Far const& far) {
        CounterWords counters = no_counts(requests.first);
        requests.credit = &counters.taken;
        HostChannel<Request, Reply, NearWithCounters<Near>, Far> channel(
            requests, replies, NearWithCounters<Near>(near, &counters), far, nullptr, &counters,
            ServedBy::any_block);
        exchange(channel);
        if (world_.hasty()) return;
        world_.await_all(channel);
        world_.require(served_ == count_, "{} requests served", served_);
    }

    template <class Channel>
    bool submit(Channel& channel) {
        if (all_submitted()) return false;
        write_request(submitted_);
        auto const number = channel.try_submit(Request::make(first_ + submitted_), data);
        if (!number) return false;
        outstanding_.push_back({*number, submitted_++});
        return true;
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
        world_.require(unpack<Reply>(reply) == Reply::make(~(first_ + taken.request)),
                       "reply {} is wrong", taken.request);
        if constexpr (World::replies_refer) world_.read_reply(taken.request);
        return true;
    }

    // The block's answer.
    Reply serve(Request const& request) {
        std::uint64_t const i = index_of(request);
        world_.require(i < count_ && request == Request::make(first_ + i), "request {} is wrong",
                       i);
        world_.require(!was_served_.at(i), "request {} was served twice", i);
        was_served_[i] = true;
        ++served_;
        world_.served(i);
        if constexpr (World::requests_refer) world_.read_request(i);
        if constexpr (World::replies_refer) world_.write_reply(i);
        return Reply::make(~(first_ + i));
    }

    [[nodiscard]] Handler handler() { return Handler(*this); }
    [[nodiscard]] bool all_submitted() const { return submitted_ == count_; }
    [[nodiscard]] bool all_taken() const { return all_submitted() && outstanding_.empty(); }
    [[nodiscard]] std::size_t outstanding() const { return outstanding_.size(); }
    [[nodiscard]] std::uint64_t submitted() const { return submitted_; }
    [[nodiscard]] std::uint64_t served() const { return served_; }

   private:
    static constexpr std::size_t most = 24;
    static constexpr OutOfLine data = World::requests_refer ? OutOfLine::written : OutOfLine::none;
    struct Outstanding {
        Sequence number;
        std::uint64_t request;
    };

    template <class Channel>
    void exchange(Channel& channel) {
        while (!all_submitted() || !(world_.hasty() || outstanding_.empty())) {
            ChannelStep const step = world_.draw_step();
            world_.stepped(step, make(step, channel));
        }
    }

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

    // Two to five requests with one fence, or as many as are left or fit.
    template <class Channel>
    bool submit_row(Channel& channel) {
        if (all_submitted()) return false;
        boost::container::static_vector<Request, 5> row;
        std::uint64_t const wanted = submitted_ + 2 + world_.choose(4);
        for (std::uint64_t i = submitted_; i != std::min(wanted, count_); ++i) {
            write_request(i);
            row.push_back(Request::make(first_ + i));
        }
        Sequence number = channel.next();
        std::size_t const sent = channel.try_submit_n(row.data(), row.size(), data);
        for (std::size_t i = 0; i < sent; ++i) outstanding_.push_back({number++, submitted_++});
        return sent != 0;
    }

    template <class Channel>
    bool abandon(Channel& channel) {
        if (outstanding_.empty()) return false;
        std::size_t const chosen = world_.choose(outstanding_.size());
        channel.abandon(outstanding_.at(chosen).number);
        outstanding_.erase(outstanding_.begin() + chosen);
        return true;
    }

    [[nodiscard]] std::uint64_t index_of(Request const& request) const {
        if constexpr (World::in_any_order) return request.number() - first_;
        return served_;
    }
    void write_request(std::uint64_t i) {
        if constexpr (World::requests_refer) world_.write_request(i);
    }

    World& world_;
    std::uint64_t first_;
    std::uint64_t count_;
    std::uint64_t submitted_ = 0;
    boost::container::static_vector<Outstanding, most> outstanding_;
    // The host knows these, past the world's memory.
    std::array<bool, most> was_served_{};
    std::uint64_t served_ = 0;
};

// Serves several channels, each with a traffic of its own: channel c's numbers count from
// (c + 1) * numbers_apart.
inline constexpr std::uint64_t numbers_apart = 100;
template <class Worlds>
struct ChannelsHandler {
    static constexpr bool out_of_line = Worlds::value_type::replies_refer;
    Worlds& worlds;

    template <class Request>
    auto operator()(Request const& request) {
        std::uint64_t const channel = request.number() / numbers_apart - 1;
        worlds[0].require(channel < worlds.size(), "request {} is wrong", request.number());
        return worlds[channel].traffic.serve(request);
    }
};

}  // namespace carillon::test
