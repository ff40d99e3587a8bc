// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/lines.hpp"

#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

constexpr detail::Sequence first_line =
    (detail::Sequence{1} << 32U) - 999;  // tags wrap early in every ring
constexpr std::uint32_t slow_on_host = 1023;

struct Rings {
    VerifyStage const& stage;
    LineTest const& test;
    ChannelMemory memory;
    detail::HostMapped far;

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
    [[nodiscard]] detail::ChannelView host_view(unsigned ring) const {
        return memory.host_view().channel(ring);
    }
};

template <class Credit>
Findings send_lines(Rings const& rings, unsigned thread, Clock::time_point deadline) {
    unsigned const first = rings.first_of(thread);
    std::vector<detail::Producer<Numbered, detail::HostMapped, Credit>> producers;
    for (unsigned i = 0; i < rings.test.rings_per_thread; ++i) {
        producers.emplace_back(rings.host_view(first + i).requests, rings.far, Credit());
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
    } while (time_is_left(deadline));
    for (unsigned i = 0; i < producers.size(); ++i) {
        detail::FlagWriter<std::uint64_t, detail::HostMapped>(
            &rings.host_view(first + i).control->stop, rings.far)
            .set(producers[i].next());
    }
    return {};
}

class HostTaker {
   public:
    HostTaker(Rings const& rings, unsigned ring)
        : consumer_(rings.host_view(ring).replies, ring, detail::HostCached(), rings.far),
          end_(&rings.host_view(ring).status->ended),
          delay_(rings.test.slow_consumer ? slow_on_host : 0) {}

    // Takes up to a burst; returns whether there was a line.
    bool take(Findings& findings) {
        for (std::uint32_t n = 0; n < burst; ++n) {
            if (!consumer_.try_check(findings)) return n != 0;
            if (delay_ != 0) consumer_.delay(delay_);
        }
        return true;
    }
    [[nodiscard]] bool at_end() const {
        return consumer_.at_end(detail::HostCached().load_word(end_));
    }
    void give_up(Findings& findings) const {
        consumer_.give_up(detail::HostCached().load_word(end_), findings);
    }

   private:
    CheckedConsumer<detail::HostCached, detail::HostMapped> consumer_;
    std::uint64_t const* end_;
    std::uint32_t delay_;
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
    kernel.start(TakeLines{rings.memory.device_view(),
                           rings.test.slow_consumer ? slow_on_device : 0, kernel.station()});
    auto const deadline = Clock::now() + time;
    (void)on_threads(rings.stage.threads, [&](unsigned thread) {
        return rings.test.ignore_credit ? send_lines<IgnoredCredit>(rings, thread, deadline)
                                        : send_lines<detail::HostCached>(rings, thread, deadline);
    });
    return kernel.end();
}

template <class Credit>
Findings lines_to_host(Rings const& rings, std::chrono::nanoseconds time) {
    LitmusKernel kernel(rings.stage, rings.count(), time);
    kernel.start(SendLines<Credit>{rings.memory.device_view(), kernel.station()});
    auto const deadline = Clock::now() + time;
    return on_threads_until(kernel, deadline, rings.stage.threads,
                            [&](unsigned thread) { return take_lines(rings, thread, deadline); });
}

}  // namespace

Findings run_lines(VerifyStage const& stage, LineTest const& test, std::chrono::nanoseconds time) {
    Rings const rings(stage, test);
    if (test.direction == Direction::to_device) return lines_to_device(rings, time);
    return test.ignore_credit ? lines_to_host<IgnoredCredit>(rings, time)
                              : lines_to_host<detail::DeviceNear>(rings, time);
}

}  // namespace carillon::tool
