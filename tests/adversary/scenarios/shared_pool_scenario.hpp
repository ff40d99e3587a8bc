// SPDX-License-Identifier: Apache-2.0
// A kernel's owner lends places to clients, and any free block serves their requests. Each request
// is served once, each reply is whole and belongs to its request, and no block is in the memory of
// a client that has gone.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/seeds.hpp"
#include "carillon/detail/protocol/pool_places.hpp"
#include "support/sized.hpp"
#include "traffic/channel_traffic.hpp"

namespace carillon::test {
using namespace detail;

// The calls of one client. Replies refer to data, or do not.
class PoolCalls : public AdversaryWorld {
   public:
    using Message = SizedWords<40>;
    static constexpr bool requests_refer = false;
    static constexpr bool replies_refer = true;
    static constexpr bool in_any_order = true;
    static constexpr std::uint64_t count = 7;

    PoolCalls(Policies const& policies, unsigned client, bool hasty, OutOfLine data)
        : AdversaryWorld(policies),
          first_word_(static_cast<std::uint32_t>(client * count)),
          hasty_(hasty),
          refers_(data),
          data_(policies, Side::device),
          traffic(*this, count, client * count) {}

    [[nodiscard]] ChannelStep draw_step() const {
        machine_.pause(Side::host);
        Random& random = machine_.random();
        if (!traffic.all_submitted() && random.one_in(2)) return ChannelStep::submit;
        return random.one_in(64) ? ChannelStep::abandon : ChannelStep::take;
    }
    static void stepped(ChannelStep /*step*/, bool /*any*/) {}
    [[nodiscard]] std::uint32_t choose(std::size_t of) const {
        return machine_.random().below(static_cast<std::uint32_t>(of));
    }
    [[nodiscard]] bool hasty() const { return hasty_; }
    void served(std::uint64_t /*i*/) const {
        for (std::uint32_t i = machine_.random().below(64); i != 0; --i) {
            machine_.pause(Side::device);
        }
    }
    void write_reply(std::uint64_t i) const {
        if (refers_ == OutOfLine::written) data_.write(word(i), ~i);
    }
    void read_reply(std::uint64_t i) const {
        require(refers_ == OutOfLine::none || data_.read(word(i)) == ~i,
                "reply {} is ahead of its data", i);
    }
    // As a drain does.
    template <class Channel>
    void await_all(Channel const& channel) const {
        while (!channel.all_answered()) machine_.pause(Side::host);
    }

   private:
    [[nodiscard]] std::uint32_t word(std::uint64_t i) const {
        return first_word_ + static_cast<std::uint32_t>(i);
    }

    std::uint32_t first_word_;
    bool hasty_;  // leaves while replies are under way
    OutOfLine refers_;
    OutOfLineWords data_;

   public:
    ChannelTraffic<PoolCalls, Message, Message> traffic;
};

template <class ReplyFar = Policies::DeviceFar, class Near = Policies::DeviceNear>
class SharedPoolScenario {
   public:
    SharedPoolScenario(Policies const& policies, ReplyFar reply_far, Near near,
                       OutOfLine data = OutOfLine::written)
        : policies_(policies),
          machine_(policies.machine()),
          near_(near),
          reply_far_(reply_far),
          refers_(data),
          capacity_(2U << machine_.random().below(2)),
          leases_(capacity_ == 2 ? 2 : 1),
          blocks_(machine_.random().one_in(4) ? 1 : 2) {
        bool const hasty = machine_.random().one_in(2);
        for (unsigned i = 0; i != places * leases_; ++i) {
            calls_.emplace_back(policies, i, hasty, data);
            format_ring(requests(i));
            format_ring(replies(i));
        }
        if (machine_.random().one_in(4)) machine_.drag();
    }

    std::string run() {
        std::vector<Machine::Thread> threads{{Side::host, [this] { own(); }}};
        for (unsigned i = 0; i != places; ++i) {
            threads.push_back({Side::host, [this, i] { ask(i); }});
        }
        for (unsigned i = 0; i != blocks_; ++i) {
            threads.push_back({Side::device, [this, i] { serve(i); }});
        }
        return machine_.run(std::move(threads));
    }

   private:
    static constexpr unsigned places = 2;
    using Message = PoolCalls::Message;

    // The memory of client `i`: a place's leases follow one another.
    [[nodiscard]] Sequence first_of(unsigned i) const {
        return i % 2 == 0 ? (Sequence{1} << 32) - 3 : 1 + 64 * i;
    }
    [[nodiscard]] RingView requests(unsigned i) {
        return {machine_.device_lines() + i * (capacity_ + 1), &unused_, capacity_, first_of(i)};
    }
    [[nodiscard]] RingView replies(unsigned i) {
        RingView const asked = requests(i);
        return {machine_.host_lines() + i * capacity_, &asked.base[capacity_].quads[0].low,
                capacity_, first_of(i)};
    }
    [[nodiscard]] LeaseTable table() {
        auto* const lines = reinterpret_cast<LeaseLine*>(machine_.device_lines() + 12);
        auto* const claims = reinterpret_cast<LeaseClaim*>(machine_.device_lines() + 16);
        auto* const status = reinterpret_cast<LeaseStatus*>(machine_.host_lines() + 8);
        return {lines, status, ChannelShape{capacity_}, blocks_, &lines[places].number, claims};
    }

    void own() {
        using Writer = LeaseWriter<Policies::HostNear, Policies::HostFar>;
        std::vector<Writer> writers;
        for (unsigned i = 0; i != places; ++i) {
            writers.emplace_back(table(), i, policies_.host_near(), policies_.host_far());
        }
        LeaseNewsWriter<Policies::HostFar> news(table().news, policies_.host_far());
        while (gone_ != places * leases_) {
            unsigned const place = machine_.random().below(places);
            Writer& writer = writers[place];
            machine_.pause(Side::host);
            if (writer.leased()) {
                if (!done_[place]) continue;
                writer.end();
                news.tell();
                while (!writer.over()) look_at(client_of(place));
                wipe(client_of(place));
                ++turn_[place];
                ++gone_;
            } else if (turn_[place] != leases_) {
                unsigned const client = client_of(place);
                writer.begin({reinterpret_cast<std::byte*>(requests(client).base),
                              reinterpret_cast<std::byte*>(replies(client).base), 1,
                              ChannelShape{capacity_}, first_of(client), nullptr, false});
                news.tell();
                done_[place] = false;
                given_[place] = client;
            }
        }
        for (std::uint32_t i = 0; i != 30; ++i) {
            for (unsigned client = 0; client != places * leases_; ++client) look_at(client);
        }
        finished_ = true;
    }
    [[nodiscard]] unsigned client_of(unsigned place) const {
        return place * leases_ + turn_[place];
    }
    // The memory is for something else now.
    void wipe(unsigned client) {
        machine_.exchange(Side::host, replies(client).base, [](std::uint64_t) { return 0; });
        wiped_[client] = true;
    }
    void look_at(unsigned client) {
        std::uint64_t const found =
            policies_.host_near().load_word(&replies(client).base->quads[0].low);
        machine_.require(!wiped_[client] || found == 0, "a block writes into the memory of {}",
                         client);
        machine_.pause(Side::host);
    }

    void ask(unsigned place) {
        for (unsigned i = 0; i != leases_; ++i) {
            unsigned const client = place * leases_ + i;
            while (given_[place] != client) machine_.pause(Side::host);
            calls_[client].traffic.command_pool(requests(client), replies(client),
                                                policies_.host_near(), policies_.host_far());
            done_[place] = true;
        }
    }

    void serve(unsigned block) {
        PoolPlaces<Message, Message, Near, ReplyFar, PoolSweeps{2, 2}> clients(
            table(), places, block, near_, reply_far_);
        while (!finished_) {
            PoolRequest<Message> taken;
            if (!clients.try_take(taken)) continue;
            auto const request = unpack<Message>(taken.message);
            std::uint64_t const client = request.number() / PoolCalls::count;
            machine_.require(client < calls_.size(), "request {} is wrong", request.number());
            clients.answer(taken, pack(calls_[client].traffic.serve(request), 0), refers_);
        }
    }

    Policies const& policies_;
    Machine& machine_;
    Near near_;
    ReplyFar reply_far_;
    OutOfLine refers_;
    std::uint32_t capacity_;
    unsigned leases_;              // of each place, one after the other
    unsigned blocks_;              // one that is alone claims nothing
    std::deque<PoolCalls> calls_;  // of each client
    std::uint64_t unused_ = 0;     // no credit is given for requests
    // Between the threads, past the machine.
    std::array<std::optional<unsigned>, places> given_;
    std::array<bool, places> done_{};
    std::array<unsigned, places> turn_{};
    std::array<bool, 2 * places> wiped_{};
    unsigned gone_ = 0;
    bool finished_ = false;
};

}  // namespace carillon::test
