// SPDX-License-Identifier: Apache-2.0
// Threads that send for `carillon-bench rate`, and the kernel at the other end.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <carillon/detail/host/thread.hpp>
#include <exception>
#include <span>
#include <thread>
#include <vector>

#include "kernels/rate_kernels.hpp"
#include "rate/rate_measures.hpp"

namespace carillon::tool {

using RateClock = std::chrono::steady_clock;

// Messages to send, all different, again and again; few enough to stay in the first-level cache.
class Source {
   public:
    explicit Source(std::uint64_t seed) : messages_(size), sums_(size + 1) {
        for (std::size_t i = 0; i < size; ++i) {
            for (std::uint64_t& word : messages_[i].word) word = seed = next(seed);
            sums_[i + 1] = sums_[i] + messages_[i].sum();
        }
    }

    // The next messages, at most `most` of them and at least one.
    [[nodiscard]] std::span<Payload const> next_messages(std::size_t most) const {
        return std::span(messages_).subspan(at_, std::min(most, size - at_));
    }
    // `count` of them were sent.
    void sent(std::size_t count) {
        tally_ += {count, sums_[at_ + count] - sums_[at_]};
        at_ = (at_ + count) % size;
    }
    [[nodiscard]] Tally const& tally() const { return tally_; }

   private:
    static constexpr std::size_t size = 512;

    [[nodiscard]] static std::uint64_t next(std::uint64_t state) {
        return state * 6364136223846793005U + 1442695040888963407U;
    }

    std::vector<Payload> messages_;
    std::vector<std::uint64_t> sums_;  // of the messages before
    std::size_t at_ = 0;
    Tally tally_;
};

// Sends for `duration`: `push(messages)` returns how many it sent. The clock is looked at now and
// then, and whenever nothing could be sent.
template <class Push>
void send_for(std::chrono::nanoseconds duration, Source& source, std::size_t batch,
              bool oversubscribed, Push&& push) {
    auto const end = RateClock::now() + duration;
    std::uint32_t misses = 0;
    for (std::uint32_t pushes = 1;; ++pushes) {
        std::size_t const sent = push(source.next_messages(batch));
        source.sent(sent);
        if (sent != 0) {
            misses = 0;
        } else {
            detail::cpu::pause_or_yield(++misses, oversubscribed);
        }
        if ((sent == 0 || pushes % 64 == 0) && RateClock::now() >= end) return;
    }
}

// The calling thread to the `index`th of the processors that it may run on.
inline void pin_to_processor(unsigned index) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return;
    for (int i = 0; i < CPU_SETSIZE; ++i) {
        if (!CPU_ISSET(i, &allowed) || index-- != 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(i, &one);
        (void)pthread_setaffinity_np(pthread_self(), sizeof(one), &one);  // measured all the same
        return;
    }
}

// Runs `body(thread)` on `count` threads at once and returns when they began. On a machine with a
// GPU each thread has a processor of its own. Rethrows the exception of a thread.
template <class Body>
RateClock::time_point on_producers(unsigned count, bool pinned, Body const& body) {
    std::atomic<unsigned> ready = 0;
    std::atomic<bool> go = false;
    std::vector<std::exception_ptr> failures(count);
    RateClock::time_point start;
    {
        std::vector<detail::Thread> threads;
        for (unsigned i = 0; i < count; ++i) {
            threads.push_back(detail::start_thread("carillon-rate", [&, i] {
                if (pinned) pin_to_processor(i);
                ++ready;
                while (!go) std::this_thread::yield();
                try {
                    body(i);
                } catch (...) {
                    failures[i] = std::current_exception();
                }
            }));
        }
        while (ready != count) std::this_thread::yield();
        start = RateClock::now();
        go = true;
    }
    for (auto const& failure : failures) {
        if (failure) std::rethrow_exception(failure);
    }
    return start;
}

// A kernel of one run, with its orders and the tallies of its threads.
class RateKernel {
   public:
    // The kernel ends by itself after much longer than `duration`.
    RateKernel(Device const& device, LaunchShape shape, std::chrono::nanoseconds duration)
        : device_(device),
          shape_(shape),
          bound_{static_cast<std::uint64_t>((duration + std::chrono::seconds(60)).count()),
                 device.oversubscribed(shape.blocks + 1)},
          order_(device.allocate(sizeof(detail::Line))),
          tallies_(device.allocate_host(std::size_t{shape.blocks} * shape.threads *
                                        sizeof(detail::Line))) {}

    [[nodiscard]] Ledger ledger() const {
        return {static_cast<std::uint64_t const*>(order_.device_ptr()),
                static_cast<detail::Line*>(tallies_.device_ptr()), bound_};
    }

    template <class Body>
    void start(Body const& body) {
        kernel_ = launch(device_, shape_, body);
    }

    void order(Order order) const {
        auto* const word = static_cast<std::uint64_t*>(order_.host_ptr());
        detail::HostMapped const far = device_.access(order_);
        far.store_word(word, static_cast<std::uint64_t>(order));
        far.commit(word, sizeof(*word));
    }

    // Waits until the threads report that `count` messages were taken.
    void await(std::uint64_t count) const {
        if (!HostWait(HostWait::Style::yield)
                 .until([&] { return tally().messages >= count; }, rate_limit,
                        [&] { require_alive(); })) {
            throw TimeoutError("rate", "messages were sent that nobody took");
        }
    }

    // Stops the kernel, and returns the sum of its threads' tallies.
    [[nodiscard]] Tally stop() const {
        order(Order::stop);
        if (!kernel_.wait(rate_limit)) throw TimeoutError("rate", "a kernel did not end");
        return tally();
    }

    [[nodiscard]] Tally tally() const {
        Tally all;
        auto const* const lines = static_cast<detail::Line const*>(tallies_.host_ptr());
        for (std::size_t i = 0; i < std::size_t{shape_.blocks} * shape_.threads; ++i) {
            detail::Line const line = detail::HostCached().load_line(lines + i);
            if (detail::has_arrived(line, line.quads[0].tag())) all += detail::unpack<Tally>(line);
        }
        return all;
    }

   private:
    void require_alive() const {
        if (kernel_.finished()) throw Error("rate", "a kernel ended before its time");
    }

    Device device_;
    LaunchShape shape_;
    Bound bound_;
    Memory order_;
    Memory tallies_;
    RunningKernel kernel_;
};

// Throws Error unless the messages taken are the messages sent.
inline void require_equal(std::string const& name, Tally const& sent, Tally const& taken) {
    if (sent == taken) return;
    throw Error("rate", name + ": " + std::to_string(taken.messages) + " messages came of " +
                            std::to_string(sent.messages) +
                            (sent.messages == taken.messages ? ", with another content" : ""));
}

[[nodiscard]] inline double per_second(std::uint64_t count, RateClock::duration elapsed) {
    return static_cast<double>(count) / std::chrono::duration<double>(elapsed).count();
}

}  // namespace carillon::tool
