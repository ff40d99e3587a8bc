// SPDX-License-Identifier: Apache-2.0
// A litmus kernel from start to findings, for the device sources among tools/verify/.
#pragma once

#include <future>
#include <thread>
#include <vector>

#include "verify/litmus.hpp"

namespace carillon::tool {

// The time that the host waits at the end for messages that the device says it sent.
inline constexpr std::chrono::seconds arrival_patience{5};

// Lines of one ring before a thread turns to its next.
inline constexpr std::uint32_t burst = 32;
// How slow a slow consumer of the device is: looks at a word, at most.
inline constexpr std::uint32_t slow_on_device = 7;

class LitmusKernel {
   public:
    // Every thread reports, or the one that stands for a block's.
    LitmusKernel(VerifyStage const& stage, LaunchShape shape, std::chrono::nanoseconds time)
        : device_(stage.device),
          shape_(shape),
          reporters_(shape.blocks * (device_.traits().one_thread_a_block ? 1 : shape.threads)),
          findings_(device_.allocate_host(reporters_ * sizeof(Findings))),
          stop_(device_.allocate(sizeof(detail::Line))),
          bound_{static_cast<std::uint64_t>((time + margin).count()),
                 device_.traits().shares_processors} {}
    LitmusKernel(VerifyStage const& stage, unsigned blocks, std::chrono::nanoseconds time)
        : LitmusKernel(stage, LaunchShape{blocks}, time) {}

    [[nodiscard]] Station station() const {
        return {static_cast<Findings*>(findings_.device_ptr()),
                static_cast<std::uint64_t const*>(stop_.device_ptr()), bound_};
    }

    // Starts the blocks, and waits until all of them run.
    template <class Body>
    void start(Body const& body) {
        kernel_ = launch(device_, shape_, body);
        auto const running = [&] { return started() == reporters_ || kernel_.finished(); };
        if (!HostWait(HostWait::Style::yield).until(running, margin)) {
            throw TimeoutError("verify", "a litmus kernel did not start");
        }
    }

    void stop() const {
        detail::FlagWriter<std::uint64_t, detail::HostMapped>(
            static_cast<std::uint64_t*>(stop_.host_ptr()), device_.access(stop_))
            .set(1);
    }

    // Stops the blocks that are not waiting for an end of their own; all they found.
    [[nodiscard]] Findings end() const {
        stop();
        if (!kernel_.wait(std::chrono::nanoseconds(bound_.ns) + margin)) {
            throw TimeoutError("verify", "a litmus kernel did not end");
        }
        Findings all;
        for (unsigned i = 0; i < reporters_; ++i) all += of_reporter(i);
        return all;
    }

   private:
    static constexpr std::chrono::nanoseconds margin = std::chrono::seconds(10);

    [[nodiscard]] Findings const& of_reporter(unsigned reporter) const {
        return static_cast<Findings const*>(findings_.host_ptr())[reporter];
    }
    [[nodiscard]] unsigned started() const {
        unsigned count = 0;
        for (unsigned i = 0; i < reporters_; ++i) {
            if (detail::HostCached().load_word(&of_reporter(i).started) != 0) ++count;
        }
        return count;
    }

    Device device_;
    LaunchShape shape_;
    unsigned reporters_;
    Memory findings_;
    Memory stop_;
    Bound bound_;
    RunningKernel kernel_;
};

// Runs `body(thread)` on `threads` threads and returns the sum of their findings.
template <class Body>
[[nodiscard]] Findings on_threads(unsigned threads, Body const& body) {
    std::vector<std::future<Findings>> running;
    for (unsigned i = 0; i < threads; ++i) {
        running.push_back(std::async(std::launch::async, body, i));
    }
    Findings all;
    for (auto& each : running) all += each.get();
    return all;
}

// Runs on_threads() while a kernel sends, and stops the kernel at the deadline or an interrupt.
template <class Body>
[[nodiscard]] Findings on_threads_until(LitmusKernel const& kernel, Clock::time_point deadline,
                                        unsigned threads, Body const& body) {
    auto stopping = std::async(std::launch::async, [&] {
        sleep_until(deadline);
        kernel.stop();
    });
    Findings const found = on_threads(threads, body);
    stopping.get();
    (void)kernel.end();
    return found;
}

}  // namespace carillon::tool
