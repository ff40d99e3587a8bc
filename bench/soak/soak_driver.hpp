// SPDX-License-Identifier: Apache-2.0
// The thread that puts a kernel under load. For device sources.
#pragma once

#include <algorithm>
#include <carillon/carillon.hpp>
#include <chrono>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "measure/interrupt.hpp"
#include "soak/check.hpp"
#include "soak/soak.hpp"

namespace carillon::tool {

using SoakClock = std::chrono::steady_clock;
template <unsigned lines>
using SoakChannel = Channel<SoakRequest<lines>, SoakReply<lines>>;

inline constexpr std::chrono::seconds soak_limit{10};       // no reply for this time: it is lost
inline constexpr std::chrono::milliseconds soak_tick{100};  // or a tenth of a short run
inline constexpr std::uint64_t soak_burst =
    64;  // requests or replies of a channel before the next one's

[[nodiscard]] inline SoakClock::duration soak_seconds(double seconds) {
    return std::chrono::nanoseconds(std::llround(1e9 * seconds));
}

// A channel and its outstanding requests.
template <unsigned lines>
class SoakLane {
   public:
    SoakLane(SoakChannel<lines>& channel, unsigned index, std::uint64_t abandon_every)
        : channel_(&channel),
          tickets_(channel.capacity()),
          check_(index, channel.capacity()),
          abandon_every_(abandon_every),
          moved_(SoakClock::now()) {}

    [[nodiscard]] std::uint64_t sent() const { return check_.next().number - 1; }
    [[nodiscard]] std::uint64_t taken() const { return taken_; }
    [[nodiscard]] SoakCounts finish() { return check_.finish(); }

    // Sends up to number `due` as far as there is room, and takes the replies that have come.
    // Returns whether it did either. Throws TimeoutError when neither was possible for too long.
    bool step(std::uint64_t due, SoakClock::time_point now) {
        bool const any_sent = send(due);
        bool const moved = take() || any_sent;
        bool const waits = taken_ < sent() || sent() < due;
        if (moved || !waits) {
            moved_ = now;
        } else if (now - moved_ > soak_limit) {
            throw TimeoutError("under load", "replies stopped coming");
        }
        return moved;
    }

   private:
    bool send(std::uint64_t due) {
        std::uint64_t const first = sent();
        // An abandoned reply gives its slot back before take() has come to its number.
        due = std::min({due, first + soak_burst, taken_ + tickets_.size()});
        while (sent() < due) {
            std::uint64_t const number = check_.next().number;
            auto& ticket = ticket_of(number);
            ticket = channel_->try_submit(check_.next());
            if (!ticket) break;
            check_.sent();
            if (number % abandon_every_ == 0) {
                channel_->abandon(*ticket);
                check_.abandon(number);
                ticket.reset();
            }
        }
        return sent() != first;
    }

    bool take() {
        std::uint64_t const first = taken_;
        std::uint64_t const most = std::min(sent(), first + soak_burst);
        for (; taken_ < most; ++taken_) {
            auto const& ticket = ticket_of(taken_ + 1);
            if (!ticket) continue;
            auto const reply = channel_->try_take(*ticket);
            if (!reply) break;
            check_.replied(taken_ + 1, *reply);
        }
        return taken_ != first;
    }

    [[nodiscard]] std::optional<Ticket>& ticket_of(std::uint64_t number) {
        return tickets_[number & (tickets_.size() - 1)];
    }

    SoakChannel<lines>* channel_;
    std::vector<std::optional<Ticket>> tickets_;  // none: abandoned
    SoakCheck<lines> check_;
    std::uint64_t abandon_every_;
    std::uint64_t taken_ = 0;  // all up to this one were taken or abandoned
    SoakClock::time_point moved_;
};

// A kernel and the one thread that drives all its channels.
template <unsigned lines>
class SoakDriver {
   public:
    SoakDriver(Device const& device, SoakOptions const& options, unsigned channels)
        : kernel_(device, kernel_options(options, channels)),
          shares_processors_(device.traits().shares_processors),
          oversubscribed_(HostWait::oversubscribed(channels)) {
        lanes_.reserve(channels);
        for (unsigned i = 0; i < channels; ++i) {
            lanes_.emplace_back(kernel_.channel(i), i, options.abandon_every);
        }
    }

    // Sends `rate` requests per second, spread over the channels, for the given time, and takes the
    // replies; rate 0 sends as many as there is room for. A late request does not shift those after
    // it. `tick(elapsed)` is called now and then. Returns the time that it took.
    template <class Tick>
    SoakClock::duration run(double rate, SoakClock::duration duration, Tick&& tick) {
        double const each_per_ns = rate / 1e9 / static_cast<double>(lanes_.size());
        std::vector<std::uint64_t> before;
        for (auto const& lane : lanes_) before.push_back(lane.sent());
        auto const start = SoakClock::now();
        auto const between_ticks = std::min<SoakClock::duration>(soak_tick, duration / 10);
        SoakClock::duration elapsed{0};
        SoakClock::duration next_tick{0};
        while (elapsed < duration && !interrupted()) {
            std::uint64_t const due = due_by(elapsed, each_per_ns);
            bool moved = false;
            for (std::size_t i = 0; i < lanes_.size(); ++i) {
                if (lanes_[i].step(before[i] + due, start + elapsed)) moved = true;
            }
            idle(moved);
            elapsed = SoakClock::now() - start;
            if (elapsed >= next_tick) {
                tick(elapsed);
                next_tick = elapsed + between_ticks;
            }
        }
        return elapsed;
    }

    // Takes the outstanding replies.
    void settle() {
        for (bool all = false; !all;) {
            auto const now = SoakClock::now();
            bool moved = false;
            all = true;
            for (auto& lane : lanes_) {
                if (lane.step(lane.sent(), now)) moved = true;
                all = all && lane.taken() == lane.sent();
            }
            idle(moved);
        }
    }

    void drain() { kernel_.drain(soak_limit); }
    void stop() { kernel_.stop(soak_limit); }

    [[nodiscard]] std::uint64_t taken() const {
        std::uint64_t all = 0;
        for (auto const& lane : lanes_) all += lane.taken();
        return all;
    }
    [[nodiscard]] SoakCounts finish() {
        SoakCounts all;
        for (auto& lane : lanes_) all += lane.finish();
        return all;
    }

   private:
    static KernelOptions kernel_options(SoakOptions const& soak, unsigned channels) {
        KernelOptions options;
        options.blocks = channels;
        options.capacity = soak.capacity;
        options.lifetime = soak_seconds(soak.seconds) + std::chrono::minutes(10);
        return options;
    }

    // The number of a channel's requests that are due by then.
    static std::uint64_t due_by(SoakClock::duration elapsed, double per_ns) {
        if (per_ns <= 0) return std::numeric_limits<std::uint64_t>::max() / 2;
        std::chrono::duration<double, std::nano> const ns = elapsed;
        return static_cast<std::uint64_t>(per_ns * ns.count());
    }

    // The device may need processors too.
    void idle(bool moved) {
        misses_ = moved ? 0 : misses_ + 1;
        if (shares_processors_ && !moved) detail::cpu::pause_or_yield(misses_, oversubscribed_);
    }

    PersistentKernel<SoakHandler<lines>> kernel_;
    std::vector<SoakLane<lines>> lanes_;
    bool shares_processors_;
    bool oversubscribed_;
    std::uint32_t misses_ = 0;
};

}  // namespace carillon::tool
