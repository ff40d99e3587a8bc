// SPDX-License-Identifier: Apache-2.0
// Requests per second if the next one is sent before the last is answered: through one channel
// whose handler has one thread and keeps a state, and through one block of a pool.
#include <algorithm>
#include <array>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>

#include "rtt/users/calls.hpp"

namespace carillon::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t batch = 32;
constexpr std::uint32_t requests_a_call = 10;  // a request takes so much less time

// Ends a wait for replies that do not come.
class Patience {
   public:
    explicit Patience(Device const& device)
        : shared_(device.traits().shares_processors), oversubscribed_(device.oversubscribed(1)) {}

    void found() { misses_ = 0; }
    // Throws TimeoutError.
    void in_vain() {
        if (++misses_ == 1) since_ = Clock::now();
        if (shared_) detail::cpu::pause_or_yield(misses_, oversubscribed_);
        if (misses_ % 1024 == 0 && Clock::now() - since_ > round_trip_limit) {
            throw TimeoutError("rtt", "requests were not answered");
        }
    }

   private:
    bool shared_;  // the device's blocks need processors too
    bool oversubscribed_;
    std::uint32_t misses_ = 0;
    Clock::time_point since_;
};

// Sends requests `batch` at a time, with at most `window` outstanding, and takes their replies.
template <std::uint32_t window, class Client, class Check>
void stream_rows(Client& client, std::uint32_t count, Patience patience, Check&& check) {
    using Request = typename Client::Request;
    std::array<Request, batch> requests{};
    std::array<typename Client::Reply, window> replies{};
    Tickets tickets;
    std::uint32_t sent = 0;
    std::uint32_t taken = 0;
    while (taken != count) {
        std::size_t submitted = 0;
        std::uint32_t const wanted = std::min(batch, count - sent);
        if (wanted != 0 && sent - taken + wanted <= window) {
            for (std::uint32_t i = 0; i < wanted; ++i) requests[i] = {sent + i, 1};
            Tickets const more =
                client.try_submit_n(std::span<Request const>(requests).first(wanted));
            tickets.append(more);
            submitted = more.size();
            sent += static_cast<std::uint32_t>(submitted);
        }
        std::size_t const come = client.try_take_n(tickets, replies);
        for (std::size_t i = 0; i < come; ++i) check(replies[i], taken++);
        submitted + come != 0 ? patience.found() : patience.in_vain();
    }
}

// Sends and takes them one by one.
template <std::uint32_t window, class Client, class Check>
void stream(Client& client, std::uint32_t count, Patience patience, Check&& check) {
    std::array<std::optional<Ticket>, window> tickets;
    std::uint32_t sent = 0;
    std::uint32_t taken = 0;
    while (taken != count) {
        bool moved = false;
        if (sent != count && sent - taken != window) {
            auto& ticket = tickets[sent % window];
            ticket = client.try_submit({sent, 1});
            moved = ticket.has_value();
            if (moved) ++sent;
        }
        while (taken != sent) {
            auto const reply = client.try_take(*tickets[taken % window]);
            if (!reply) break;
            check(*reply, taken++);
            moved = true;
        }
        moved ? patience.found() : patience.in_vain();
    }
}

void require_word(Sized<8> const& reply, std::uint64_t expected) {
    if (reply.word[0] != expected) throw Error("rtt", "the reply to another request came back");
}

// `send(count)` sends `count` requests and takes their replies.
template <class Send>
void count_requests(std::uint32_t calls, UsersFigures& figures, Send&& send) {
    std::uint32_t const count = (calls * requests_a_call + batch - 1) / batch * batch;
    send(batch);  // until everything has been used
    auto const start = Clock::now();
    send(count);
    std::chrono::duration<double> const taken = Clock::now() - start;
    figures.per_second.push_back(count / taken.count());
}

template <std::uint32_t window, bool in_rows>
class ChannelRequests final : public UsersMeasure {
   public:
    explicit ChannelRequests(UsersStage stage) : stage_(std::move(stage)) {}

    void run(std::uint32_t calls, UsersFigures& figures) override {
        PersistentKernel<Accumulating> kernel(stage_.device);
        auto& channel = kernel.channel();
        std::uint64_t total = 0;
        count_requests(calls, figures, [&](std::uint32_t count) {
            auto const check = [&](Sized<8> const& reply, std::uint32_t i) {
                total += i + 1;
                require_word(reply, total);
            };
            Patience const patience(stage_.device);
            if constexpr (in_rows) {
                stream_rows<window>(channel, count, patience, check);
            } else {
                stream<window>(channel, count, patience, check);
            }
        });
        kernel.stop();
    }

   private:
    UsersStage stage_;
};

class PoolRequests final : public UsersMeasure {
   public:
    explicit PoolRequests(UsersStage stage) : stage_(std::move(stage)) {}

    void run(std::uint32_t calls, UsersFigures& figures) override {
        KernelOptions options;
        options.blocks = 1;
        PersistentKernel<Summing<16, 8>, Pool> kernel(stage_.device, options);
        auto client = kernel.client();
        count_requests(calls, figures, [&](std::uint32_t count) {
            auto const check = [](Sized<8> const& reply, std::uint32_t i) {
                require_word(reply, i + 1);
            };
            stream<window>(client, count, Patience(stage_.device), check);
        });
        kernel.stop();
    }

   private:
    static constexpr std::uint32_t window = 64;
    UsersStage stage_;
};

template <class Measure>
void add(UsersStage const& stage, UsersRows& rows, char const* name, std::uint32_t window,
         std::uint32_t burst) {
    rows.push_back({"requests",
                    name,
                    {{"outstanding", window}, {"batch", burst}},
                    std::make_unique<Measure>(stage)});
}

}  // namespace

void add_request_rows(UsersStage const& stage, UsersRows& rows) {
    add<ChannelRequests<64, false>>(stage, rows, "channel", 64, 1);
    add<ChannelRequests<4 * batch, true>>(stage, rows, "channel-batched", 4 * batch, batch);
    add<PoolRequests>(stage, rows, "pool-block", 64, 1);
}

}  // namespace carillon::tool
