// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/lines.hpp"

#include <algorithm>
#include <array>

#include "kernels/verify/shared.hpp"
#include "verify/kernel.hpp"

namespace carillon::tool {
namespace {

constexpr Sequence first_line = (Sequence{1} << 32U) - 999;  // tags wrap early in every ring
constexpr std::uint32_t burst = 32;  // lines of one ring before a thread turns to its next
constexpr std::uint32_t slow_on_device = 7;
constexpr std::uint32_t slow_on_host = 1023;

struct Rings {
    VerifyStage const& stage;
    LineTest const& test;
    ChannelMemory memory;
    HostMapped far;

    Rings(VerifyStage const& on, LineTest const& what)
        : stage(on),
          test(what),
          memory(on.device, count(), what.capacity, first_line),
          far(on.device.access(memory.device_memory())) {}

    [[nodiscard]] unsigned count() const { return stage.threads * test.rings_per_thread; }
    // Thread `thread`'s rings are numbered from here.
    [[nodiscard]] unsigned first_of(unsigned thread) const {
        return thread * test.rings_per_thread;
    }
    [[nodiscard]] ChannelView on_host(unsigned ring) const {
        return memory.on_host().channel(ring);
    }
};

template <class Credit>
Findings send_lines(Rings const& rings, unsigned thread, Clock::time_point deadline) {
    unsigned const first = rings.first_of(thread);
    std::vector<Producer<Numbered, HostMapped, Credit>> producers;
    for (unsigned i = 0; i < rings.test.rings_per_thread; ++i) {
        producers.emplace_back(rings.on_host(first + i).requests, rings.far, Credit());
    }
    do {
        bool sent = false;
        for (unsigned i = 0; i < producers.size(); ++i) {
            auto& producer = producers[i];
            for (std::uint32_t n = 0; n < burst; ++n) {
                if (!producer.try_push(Numbered::make(first + i, producer.next()))) break;
                sent = true;
            }
        }
        if (!sent) rings.stage.rest();
    } while (Clock::now() < deadline);
    for (unsigned i = 0; i < producers.size(); ++i) {
        FlagWriter<std::uint64_t, HostMapped>(&rings.on_host(first + i).control->stop, rings.far)
            .set(producers[i].next());
    }
    return {};
}

class HostTaker {
   public:
    HostTaker(Rings const& rings, unsigned ring)
        : consumer_(rings.on_host(ring).replies, ring, HostCached(), rings.far),
          end_(&rings.on_host(ring).status->ended),
          dawdle_(rings.test.slow_consumer ? slow_on_host : 0) {}

    // Takes up to a burst; returns whether there was a line.
    bool take(Findings& findings) {
        for (std::uint32_t n = 0; n < burst; ++n) {
            if (!consumer_.try_check(findings)) return n != 0;
            if (dawdle_ != 0) consumer_.dawdle(dawdle_);
        }
        return true;
    }
    [[nodiscard]] bool at_end() const { return consumer_.at_end(HostCached().load_word(end_)); }
    void give_up(Findings& findings) const {
        consumer_.give_up(HostCached().load_word(end_), findings);
    }

   private:
    CheckedConsumer<HostCached, HostMapped> consumer_;
    std::uint64_t const* end_;
    std::uint32_t dawdle_;
};

Findings take_lines(Rings const& rings, unsigned thread, Clock::time_point deadline) {
    Findings findings;
    std::vector<HostTaker> open;
    for (unsigned i = 0; i < rings.test.rings_per_thread; ++i) {
        open.emplace_back(rings, rings.first_of(thread) + i);
    }
    while (!open.empty()) {
        bool taken = false;
        for (HostTaker& each : open) taken |= each.take(findings);
        if (taken) continue;
        rings.stage.rest();
        std::erase_if(open, [](HostTaker const& each) { return each.at_end(); });
        if (Clock::now() < deadline + arrival_patience) continue;
        for (HostTaker const& each : open) each.give_up(findings);
        break;
    }
    return findings;
}

Findings lines_to_device(Rings const& rings, std::chrono::nanoseconds time) {
    LitmusKernel kernel(rings.stage, rings.count(), time);
    kernel.start(TakeLines{rings.memory.on_device(), rings.test.slow_consumer ? slow_on_device : 0,
                           kernel.station()});
    auto const deadline = Clock::now() + time;
    (void)on_threads(rings.stage.threads, [&](unsigned thread) {
        return rings.test.ignore_credit ? send_lines<IgnoredCredit>(rings, thread, deadline)
                                        : send_lines<HostCached>(rings, thread, deadline);
    });
    return kernel.end();
}

template <class Credit>
Findings lines_to_host(Rings const& rings, std::chrono::nanoseconds time) {
    LitmusKernel kernel(rings.stage, rings.count(), time);
    kernel.start(SendLines<Credit>{rings.memory.on_device(), kernel.station()});
    auto const deadline = Clock::now() + time;
    return on_threads_until(kernel, deadline, rings.stage.threads,
                            [&](unsigned thread) { return take_lines(rings, thread, deadline); });
}

// A ring that threads share, and what came through it.
class SharedLines {
   public:
    SharedLines(VerifyStage const& stage, SharedTest const& test)
        : stage_(stage),
          test_(test),
          window_(2 * test.capacity),
          sent_(std::max(2U, stage.threads)),
          ring_(stage.device,
                {test.capacity, test.stripe, static_cast<unsigned>(sent_.size()), first_shared},
                Direction::to_device),
          arrivals_(stage.device.allocate(2 * sizeof(Line) +
                                          sent_.size() * window_ * sizeof(std::uint64_t))),
          far_(stage.device.access(ring_.device_memory())) {
        Arrivals const arrivals = at(arrivals_.host());
        for (unsigned producer = 0; producer < sent_.size(); ++producer) {
            for (std::uint32_t i = 0; i < window_; ++i) *arrivals.word(producer, i) = i;
        }
        arrivals_.flush(0, arrivals_.size());
    }

    Findings run(std::chrono::nanoseconds time) {
        LaunchShape const shape = stage_.device.traits().one_thread_a_block
                                      ? LaunchShape{2}
                                      : LaunchShape{test_.blocks, 4 * lanes_per_warp};
        LitmusKernel kernel(stage_, shape, time);
        kernel.start(TakeSealed{
            ring_.on_device(), at(arrivals_.device()), test_.slow_consumer ? slow_on_device : 0,
            test_.ignore_room ? TakeLines::patience_ns / 10 : TakeLines::patience_ns,
            kernel.station()});
        auto const deadline = Clock::now() + time;
        SharedRingView const view = ring_.on_host();
        (void)on_threads(threads(), [&](unsigned thread) {
            sent_[thread] = test_.ignore_room ? send(thread, deadline, IgnoredRoom(view))
                                              : send(thread, deadline, HostCached());
            return Findings{};
        });
        std::uint64_t end = 1;
        for (std::uint64_t const each : sent_) end += each;
        FlagWriter<std::uint64_t, HostMapped>(static_cast<std::uint64_t*>(arrivals_.host()),
                                              stage_.device.access(arrivals_))
            .set(end);
        Findings found = kernel.end();
        add_missing(found);
        return found;
    }

   private:
    static constexpr Sequence first_shared = (Sequence{1} << 32U) - 1023;  // tags wrap early
    static constexpr std::uint32_t batch = 16;

    [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(sent_.size()); }
    [[nodiscard]] Arrivals at(void* start) const {
        auto* const lines = static_cast<Line*>(start);
        auto const word = [&](int line) { return reinterpret_cast<std::uint64_t*>(lines + line); };
        return {word(0), word(1), word(2), window_, threads()};
    }

    // Sends single messages and batches in turn; how many.
    template <class Near>
    [[nodiscard]] std::uint64_t send(unsigned thread, Clock::time_point deadline, Near near) const {
        SharedProducer<Sealed, HostMapped, Near, ClaimRecord> producer(
            ring_.on_host(), far_, near, ClaimRecord(ring_.records() + thread));
        std::array<Sealed, batch> messages{};
        std::uint64_t next = window_;
        std::uint32_t pushes = 0;
        do {
            for (std::uint32_t sent = 1; sent != 0 && ++pushes % burst != 0; next += sent) {
                std::uint32_t const count = pushes % 2 == 0 ? batch : 1;
                for (std::uint32_t i = 0; i < count; ++i) {
                    messages[i] = Sealed::make(thread, next + i);
                }
                sent = static_cast<std::uint32_t>(producer.try_push_n(messages.data(), count));
                if (sent == 0) stage_.rest();
            }
        } while (Clock::now() < deadline);
        return next - window_;
    }

    // Messages of the end of which none of a window came after them.
    void add_missing(Findings& findings) const {
        arrivals_.invalidate(0, arrivals_.size());
        Arrivals const arrivals = at(arrivals_.host());
        for (unsigned producer = 0; producer < threads(); ++producer) {
            std::uint64_t const last = window_ + sent_[producer] - 1;
            for (std::uint32_t i = 0; i < window_; ++i) {
                std::uint64_t const expected = last - ((last - i) & (window_ - 1));
                std::uint64_t const seen = *arrivals.word(producer, i);
                for (std::uint64_t n = seen + window_; n <= expected; n += window_) {
                    ++findings.checks;
                    findings.add({Fault::missing, producer, n, 0, n, seen});
                }
            }
        }
    }

    VerifyStage const& stage_;
    SharedTest const& test_;
    std::uint32_t window_;
    std::vector<std::uint64_t> sent_;  // by each thread
    detail::SharedRingMemory ring_;
    Memory arrivals_;
    HostMapped far_;
};

static_assert(Arrivals::most_producers == most_verify_threads);

}  // namespace

Findings run_shared(VerifyStage const& stage, SharedTest const& test,
                    std::chrono::nanoseconds time) {
    return SharedLines(stage, test).run(time);
}

Findings run_lines(VerifyStage const& stage, LineTest const& test, std::chrono::nanoseconds time) {
    Rings const rings(stage, test);
    if (test.direction == Direction::to_device) return lines_to_device(rings, time);
    return test.ignore_credit ? lines_to_host<IgnoredCredit>(rings, time)
                              : lines_to_host<DeviceNear>(rings, time);
}

}  // namespace carillon::tool
