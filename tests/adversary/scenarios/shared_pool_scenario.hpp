// SPDX-License-Identifier: Apache-2.0
// A kernel's owner lends places to clients, and any free block serves their requests. Each request
// is served once, each reply is whole and belongs to its request, and no block is in the memory of
// a client that has gone.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "adversary/scenarios/host_service_scenario.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "carillon/detail/protocol/pool_places.hpp"

namespace carillon::test {
using namespace detail;

// A client's counters are its own memory, and not the machine's.
struct NearWithCounters : Policies::HostNear {
    explicit NearWithCounters(Policies::HostNear const& near) : Policies::HostNear(near) {}

    CounterWords* counters = nullptr;

    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        if (from == &counters->taken) return CounterWords::load(counters->taken);
        return Policies::HostNear::load_word(from);
    }
};

template <class ReplyFar = Policies::DeviceFar, class Near = Policies::DeviceNear>
class SharedPoolScenario {
   public:
    using Question = AskedOfHost;
    using Answer = AskedOfHost;

    SharedPoolScenario(Policies const& policies, ReplyFar reply_far, Near near,
                       OutOfLine data = OutOfLine::written)
        : policies_(policies),
          machine_(policies.machine()),
          near_(near),
          reply_far_(reply_far),
          refers_(data),
          capacity_(2U << machine_.random().below(2)),
          leases_(capacity_ == 2 ? 2 : 1),
          hasty_(machine_.random().one_in(2)),
          blocks_(machine_.random().one_in(4) ? 1 : 2),
          data_(policies, Side::device) {
        for (unsigned i = 0; i != places * leases_; ++i) {
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
    static constexpr std::uint64_t questions = 7;  // of each client
    struct Outstanding {
        Sequence number;
        std::uint64_t index;
    };

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
        for (auto const& served : served_) {
            for (std::uint32_t const times : served) {
                machine_.require(times == 1 || (hasty_ && times == 0),
                                 "a request was served {} times", times);
            }
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
            use(client);
            done_[place] = true;
        }
    }

    void use(unsigned client) {
        CounterWords counters = no_counts(first_of(client));
        RingView asked = requests(client);
        asked.credit = &counters.taken;
        NearWithCounters near(policies_.host_near());
        near.counters = &counters;
        HostChannel<Question, Answer, NearWithCounters, Policies::HostFar> channel(
            asked, replies(client), near, policies_.host_far(), nullptr, &counters,
            ServedBy::any_block);
        std::vector<Outstanding> outstanding;
        std::uint64_t submitted = 0;
        while (submitted != questions || !(hasty_ || outstanding.empty())) {
            machine_.pause(Side::host);
            if (submitted != questions && machine_.random().one_in(2)) {
                auto const number =
                    channel.try_submit(Question::make(0, client, submitted), OutOfLine::none);
                if (number) outstanding.push_back({*number, submitted++});
                continue;
            }
            if (outstanding.empty()) continue;
            auto const chosen =
                outstanding.begin() +
                machine_.random().below(static_cast<std::uint32_t>(outstanding.size()));
            if (take(channel, *chosen, client)) outstanding.erase(chosen);
        }
        if (hasty_) return;
        // Waits until no reply is missing, as a drain does.
        while (!channel.all_answered()) machine_.pause(Side::host);
        for (std::uint64_t i = 0; i != questions; ++i) {
            machine_.require(served_[client][i] == 1, "request {} of {} was served {} times", i,
                             client, served_[client][i]);
        }
    }

    template <class Channel>
    bool take(Channel& channel, Outstanding const& of, unsigned client) {
        if (machine_.random().one_in(64)) {
            channel.abandon(of.number);
            return true;
        }
        Packed<Answer> packed;
        if (!channel.try_take(of.number, packed)) return false;
        auto const answer = unpack<Answer>(packed);
        machine_.require(answer == Answer::make(1, client, of.index),
                         "request {} of {} has the answer {} of {}, or a part of it", of.index,
                         client, answer.index, answer.asker);
        machine_.require(
            refers_ == OutOfLine::none || data_.read(word_of(client, of.index)) == ~of.index,
            "the answer to request {} of {} is ahead of its data", of.index, client);
        return true;
    }
    static std::uint32_t word_of(std::uint64_t client, std::uint64_t index) {
        return static_cast<std::uint32_t>(client * questions + index);
    }

    void serve(unsigned block) {
        PoolPlaces<Question, Answer, Near, ReplyFar, PoolSweeps{2, 2}> clients(
            table(), places, block, near_, reply_far_);
        while (!finished_) {
            PoolRequest<Question> taken;
            if (!clients.try_take(taken)) continue;
            auto const question = unpack<Question>(taken.message);
            check_and_pause(machine_, Side::device, question);
            ++served_[question.asker][question.index];
            if (refers_ == OutOfLine::written) {
                data_.write(word_of(question.asker, question.index), ~question.index);
            }
            clients.answer(taken, pack(Answer::make(1, question.asker, question.index), 0),
                           refers_);
        }
    }

    Policies const& policies_;
    Machine& machine_;
    Near near_;
    ReplyFar reply_far_;
    OutOfLine refers_;
    std::uint32_t capacity_;
    unsigned leases_;  // of each place, one after the other
    bool hasty_;       // clients leave while replies are under way
    unsigned blocks_;  // one that is alone claims nothing
    OutOfLineWords data_;
    std::uint64_t unused_ = 0;  // no credit is given for requests
    // Between the threads, past the machine.
    std::array<std::optional<unsigned>, places> given_;
    std::array<bool, places> done_{};
    std::array<unsigned, places> turn_{};
    std::array<bool, 2 * places> wiped_{};
    std::vector<std::array<std::uint32_t, questions>> served_ =
        std::vector<std::array<std::uint32_t, questions>>(places * leases_);
    unsigned gone_ = 0;
    bool finished_ = false;
};

}  // namespace carillon::test
