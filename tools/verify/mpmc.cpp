// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/mpmc.hpp"

#include <algorithm>
#include <array>

#include "kernels/verify/lines.hpp"
#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

// A ring that threads share, and the messages that came through it.
class MpmcLines {
   public:
    MpmcLines(VerifyStage const& stage, MpmcTest const& test)
        : stage_(stage),
          test_(test),
          window_(2 * test.capacity),
          sent_(std::max(2U, stage.threads)),
          ring_(stage.device,
                {.capacity = test.capacity,
                 .stripe = test.stripe,
                 .producers = static_cast<unsigned>(sent_.size()),
                 .for_tests = {first_mpmc}},
                Direction::to_device),
          arrivals_(stage.device.allocate(2 * sizeof(detail::Line) +
                                          sent_.size() * window_ * sizeof(std::uint64_t))),
          far_(stage.device.access(ring_.device_memory())) {
        Arrivals const arrivals = at(arrivals_.host_ptr());
        for (unsigned producer = 0; producer < sent_.size(); ++producer) {
            for (std::uint32_t i = 0; i < window_; ++i) *arrivals.word(producer, i) = i;
        }
        arrivals_.flush(0, arrivals_.size());
    }

    Findings run(std::chrono::nanoseconds time) {
        LaunchShape const shape = stage_.device.traits().one_thread_a_block
                                      ? LaunchShape{2}
                                      : LaunchShape{test_.blocks, 4 * detail::lanes_per_warp};
        LitmusKernel kernel(stage_, shape, time);
        kernel.start(
            TakeSealed{ring_.device_view(), at(arrivals_.device_ptr()),
                       test_.slow_consumer ? slow_on_device : 0,
                       test_.ignore_room ? TakeLines::patience_ns / 10 : TakeLines::patience_ns,
                       kernel.station()});
        auto const deadline = Clock::now() + time;
        detail::MpmcRingView const view = ring_.host_view();
        (void)on_threads(threads(), [&](unsigned thread) {
            sent_[thread] = test_.ignore_room ? send(thread, deadline, IgnoredRoom(view))
                                              : send(thread, deadline, detail::HostCached());
            return Findings{};
        });
        std::uint64_t end = 1;
        for (std::uint64_t const each : sent_) end += each;
        detail::FlagWriter<std::uint64_t, detail::HostMapped>(
            static_cast<std::uint64_t*>(arrivals_.host_ptr()), stage_.device.access(arrivals_))
            .set(end);
        Findings found = kernel.end();
        add_missing(found);
        return found;
    }

   private:
    static constexpr detail::Sequence first_mpmc =
        (detail::Sequence{1} << 32U) - 1023;  // tags wrap early
    static constexpr std::uint32_t batch = 16;

    [[nodiscard]] unsigned threads() const { return static_cast<unsigned>(sent_.size()); }
    [[nodiscard]] Arrivals at(void* start) const {
        auto* const lines = static_cast<detail::Line*>(start);
        auto const word = [&](int line) { return reinterpret_cast<std::uint64_t*>(lines + line); };
        return {word(0), word(1), word(2), window_, threads()};
    }

    // Sends single messages and batches in turn; how many.
    template <class Near>
    [[nodiscard]] std::uint64_t send(unsigned thread, Clock::time_point deadline, Near near) const {
        detail::MpmcProducer<Sealed, detail::HostMapped, Near, detail::ClaimRecord> producer(
            ring_.host_view(), far_, near, detail::ClaimRecord(ring_.records() + thread));
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
        } while (time_is_left(deadline));
        return next - window_;
    }

    // Adds the messages at the end of a window after which none came.
    void add_missing(Findings& findings) const {
        arrivals_.invalidate(0, arrivals_.size());
        Arrivals const arrivals = at(arrivals_.host_ptr());
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
    MpmcTest const& test_;
    std::uint32_t window_;
    std::vector<std::uint64_t> sent_;  // by each thread
    detail::MpmcRingMemory ring_;
    Memory arrivals_;
    detail::HostMapped far_;
};

static_assert(Arrivals::most_producers == most_verify_threads);

}  // namespace

Findings run_mpmc(VerifyStage const& stage, MpmcTest const& test, std::chrono::nanoseconds time) {
    return MpmcLines(stage, test).run(time);
}

}  // namespace carillon::tool
