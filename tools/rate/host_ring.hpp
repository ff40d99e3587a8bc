// SPDX-License-Identifier: Apache-2.0
// The ring between two CPU threads and its rival, boost::lockfree::spsc_queue: the same messages,
// slots, cores and waits. Also what bench/host_ring.cpp measures with.
#pragma once

#include <array>
#include <atomic>
#include <carillon/detail/host/start_thread.hpp>
#include <carillon/error.hpp>
#include <carillon/host_ring.hpp>
#include <carillon/placement.hpp>
#include <carillon/wait.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "measure/latency.hpp"

#if __has_include(<boost/lockfree/spsc_queue.hpp>)
#define CARILLON_HAVE_BOOST_LOCKFREE 1
#include <boost/lockfree/spsc_queue.hpp>
#else
#define CARILLON_HAVE_BOOST_LOCKFREE 0
#endif

namespace carillon::tool {

inline constexpr std::uint32_t host_ring_slots = 256;

struct HostMessage {
    std::array<std::uint64_t, 6> word;
};
static_assert(sizeof(HostMessage) == detail::payload_bytes);

class OurHostRing {
   public:
    static constexpr char const* name = "host-ring";
    bool push(HostMessage const& message) { return ring_.try_push(message); }
    bool pop(HostMessage& message) { return ring_.try_pop(message); }

   private:
    HostRing<HostMessage> ring_{host_ring_slots};
};

#if CARILLON_HAVE_BOOST_LOCKFREE
class BoostQueue {
   public:
    static constexpr char const* name = "boost-spsc";
    bool push(HostMessage const& message) { return queue_.push(message); }
    bool pop(HostMessage& message) { return queue_.pop(message); }

   private:
    boost::lockfree::spsc_queue<HostMessage, boost::lockfree::capacity<host_ring_slots>> queue_;
};
#endif

// Two cores for two threads; one for both where there is but one.
struct TwoCores {
    unsigned here;
    unsigned there;

    [[nodiscard]] static TwoCores choose() {
        auto const allowed = allowed_cores();
        return {allowed.front(), allowed.back()};
    }
};

// No wait of a measure may take longer.
inline constexpr std::chrono::seconds host_ring_limit{5};

template <class Try>
[[nodiscard]] bool in_time(HostWait const& wait, Try&& attempt) {
    return wait.until(attempt, host_ring_limit);
}

inline void require_in_time(bool was) {
    if (!was) throw TimeoutError("host ring", "the other thread did not answer");
}

// Passes `count` messages from one core to the other; nanoseconds for all of them.
template <class Queue>
[[nodiscard]] double stream_ns(TwoCores cores, HostWait const& wait, std::uint64_t count) {
    using Clock = std::chrono::steady_clock;
    auto const queue = std::make_unique<Queue>();
    std::atomic<bool> ready = false;
    std::atomic<bool> go = false;
    OnCore const here(cores.here);
    detail::Thread const producer = detail::start_thread("carillon-rate", [&] {
        OnCore const there(cores.there);
        ready = true;
        if (!in_time(wait, [&] { return go.load(); })) return;
        HostMessage message{};
        for (std::uint64_t i = 0; i < count; ++i) {
            message.word.front() = i;
            message.word.back() = i;
            if (!in_time(wait, [&] { return queue->push(message); })) return;
        }
    });
    require_in_time(in_time(wait, [&] { return ready.load(); }));
    auto const start = Clock::now();
    go = true;
    std::uint64_t sum = 0;
    HostMessage message{};
    for (std::uint64_t i = 0; i < count; ++i) {
        require_in_time(in_time(wait, [&] { return queue->pop(message); }));
        sum += message.word.front() + message.word.back();
    }
    auto const took = std::chrono::duration<double, std::nano>(Clock::now() - start).count();
    if (sum != count * (count - 1)) throw Error("host ring", "the messages are not those sent");
    return took;
}

// `count` messages there and, through another queue, back; appends the time of each.
template <class Queue>
void ping_pong(TwoCores cores, HostWait const& wait, std::uint32_t count,
               std::vector<std::uint32_t>& samples) {
    using Clock = std::chrono::steady_clock;
    auto const to = std::make_unique<Queue>();
    auto const back = std::make_unique<Queue>();
    std::uint32_t const warm_up = count / 10;
    OnCore const here(cores.here);
    detail::Thread const other = detail::start_thread("carillon-rate", [&] {
        OnCore const there(cores.there);
        HostMessage message{};
        for (std::uint32_t i = 0; i < warm_up + count; ++i) {
            if (!in_time(wait, [&] { return to->pop(message); })) return;
            if (!in_time(wait, [&] { return back->push(message); })) return;
        }
    });
    HostMessage message{};
    for (std::uint32_t i = 0; i < warm_up + count; ++i) {
        message.word.front() = i;
        auto const start = Clock::now();
        require_in_time(in_time(wait, [&] { return to->push(message); }));
        require_in_time(in_time(wait, [&] { return back->pop(message); }));
        auto const took = Clock::now() - start;
        if (message.word.front() != i) throw Error("host ring", "the answer is not what was sent");
        if (i >= warm_up) samples.push_back(static_cast<std::uint32_t>(took.count()));
    }
}

struct HostRingOptions {
    std::uint32_t rounds = 25;        // the queues take turns, so that drift hits all alike
    std::uint64_t messages = 50'000;  // a round
    std::uint32_t round_trips = 2'000;
};

struct HostQueueResult {
    std::string name;                // host-ring, boost-spsc
    std::vector<double> per_second;  // messages, of each round, in order
    LatencySummary round_trips;      // of all rounds
};

struct HostRingResult {
    bool one_core = false;  // then the figures say how fast the system switches threads
    std::vector<HostQueueResult> queues;
};

// boost-spsc is left out of a build without Boost.
class HostRingContest {
   public:
    static constexpr std::size_t queues = 1 + CARILLON_HAVE_BOOST_LOCKFREE;

    explicit HostRingContest(HostRingOptions const& options) : options_(options) {}

    // A round of one of them. Throws TimeoutError when a thread does not get on, and Error when
    // what came is not what was sent.
    void turn(std::size_t queue);
    // Of all rounds.
    [[nodiscard]] HostRingResult result();

   private:
    template <class Queue>
    void pass(std::size_t queue);

    HostRingOptions options_;
    TwoCores cores_ = TwoCores::choose();
    HostWait wait_ = HostWait::for_kernel({.shares_processors = true}, 1);
    std::vector<HostQueueResult> results_ = std::vector<HostQueueResult>(queues);
    std::array<Samples, queues> samples_;
};

// All rounds; throws what a turn throws.
[[nodiscard]] HostRingResult run_host_ring(HostRingOptions const& options = {});

}  // namespace carillon::tool
