// SPDX-License-Identifier: Apache-2.0
// Litmus test of MPMC rings: each message of each producer comes once, whole, and after those
// that its producer claimed before.
#pragma once

#include <carillon/block.hpp>

#include "kernels/verify/station.hpp"

namespace carillon::tool {

// A message that fills a line, and shows its producer, its number, and whether it is whole.
struct Sealed {
    std::uint64_t producer;
    std::uint64_t number;
    std::uint64_t filler[3];
    std::uint64_t seal;

    [[nodiscard]] CARILLON_HD static Sealed make(std::uint64_t producer, std::uint64_t number) {
        Sealed made{producer, number, {}, 0};
        for (std::uint32_t i = 0; i < 3; ++i) {
            made.filler[i] = versioned_word(static_cast<std::uint32_t>(number), i);
        }
        made.seal = made.checksum();
        return made;
    }

    // The checksum of the words before the seal.
    [[nodiscard]] CARILLON_HD std::uint64_t checksum() const {
        std::uint64_t sum = mix(mix(producer) ^ number);
        for (std::uint64_t each : filler) sum = mix(sum ^ each);
        return sum;
    }

   private:
    [[nodiscard]] CARILLON_HD static std::uint64_t mix(std::uint64_t word) {
        std::uint64_t const product = (word + 1) * 0x9e37'79b9'7f4a'7c15U;
        return product ^ (product >> 32U);
    }
};
static_assert(sizeof(Sealed) == detail::payload_bytes);

// The messages that have come through a ring, in device memory. Each producer has a window of
// words: the word of message n says which of n, n - window, ... came last. The window is longer
// than the ring: message n - window was taken before the slot of message n was free. A producer's
// numbers begin with `window`.
struct Arrivals {
    static constexpr std::uint32_t most_producers = 32;

    std::uint64_t const* end;  // one more than all messages together; 0 until the CPU knows
    std::uint64_t* told;       // how many came, as reported by consumers that find nothing
    std::uint64_t* last;
    std::uint32_t window;  // a power of two
    std::uint32_t producers;

    [[nodiscard]] CARILLON_HD std::uint64_t* word(std::uint64_t producer,
                                                  std::uint64_t number) const {
        return last + producer * window + (number & (window - 1));
    }

    // Message `number` of `producer` has come. The branch on what its word held is behind the
    // access, and so is the credit that follows (as with tags, docs/dev/guarantees.md).
    CARILLON_HD void add(std::uint32_t producer, std::uint64_t number, Findings& findings) const {
        detail::DeviceNear const near;
        std::uint64_t* const to = word(producer, number);
        std::uint64_t const before = number - window;
        std::uint64_t const seen = near.compare_exchange(to, before, number);
        if (seen == before) [[likely]]
            return;
        if (seen >= number) {
            findings.add({Fault::twice, producer, number, 0, before, seen});
        } else {
            findings.add({Fault::missing, producer, before, 0, before, seen});
            (void)near.compare_exchange(to, seen, number);
        }
    }

    // `count` more came: whether that is all.
    [[nodiscard]] CARILLON_HD bool tell(std::uint64_t count, std::uint64_t known_end) const {
        detail::DeviceNear const near;
        if (count != 0) (void)near.fetch_add(told, count);
        return near.load_word(told) + 1 >= known_end;
    }
};

// Checks the messages that one thread of a consumer takes.
class ArrivalChecker {
   public:
    CARILLON_HD explicit ArrivalChecker(Arrivals const& arrivals) : arrivals_(arrivals) {}

    CARILLON_HD void check(Sealed const& message, detail::Sequence sequence, Findings& findings) {
        ++findings.checks;
        std::uint64_t const sum = message.checksum();
        if (message.seal != sum || message.producer >= arrivals_.producers ||
            message.number < arrivals_.window) [[unlikely]] {
            findings.add({Fault::content, static_cast<std::uint32_t>(message.producer), sequence, 5,
                          sum, message.seal});
            return;
        }
        auto const producer = static_cast<std::uint32_t>(message.producer);
        if (message.number <= last_[producer]) [[unlikely]] {
            findings.add(
                {Fault::order, producer, message.number, 1, last_[producer] + 1, message.number});
        }
        last_[producer] = message.number;
        arrivals_.add(producer, message.number, findings);
    }

   private:
    Arrivals arrivals_;
    std::uint64_t last_[Arrivals::most_producers] = {};  // of each producer, as this thread saw
};

// The control: credits so far ahead that the ring never seems full.
class IgnoredRoom : public detail::HostCached {
   public:
    explicit IgnoredRoom(detail::MpmcRingView const& view) : claimed_(view.claimed) {}

    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        return from == claimed_ ? detail::HostCached::load_word(from) : std::uint64_t{1} << 62U;
    }

   private:
    std::uint64_t const* claimed_;
};

// Takes the messages of the CPU's threads, with every warp, until all have come.
struct TakeSealed {
    detail::MpmcRingView ring;
    Arrivals arrivals;
    std::uint32_t delay;
    std::uint64_t patience_ns;  // for messages before the end
    Station station;

    CARILLON_HD void operator()(unsigned block) const {
        unsigned const reporter = block * block::size() + block::thread_rank();
        DeviceMpmcConsumer<Sealed> consumer(ring);
        ArrivalChecker checker(arrivals);
        Delayer delayer(reporter + 1);
        Findings findings;
        std::uint64_t end = 0;
        std::uint64_t told = 0;
        station.start(reporter);
        BoundedPolls polls(station.bound);
        for (bool going_on = true; going_on;) {
            bool const found = consumer.poll([&](Sealed const& message, detail::Sequence sequence) {
                checker.check(message, sequence, findings);
            });
            if (found) {
                polls.found();
                if (delay != 0) delayer.delay(detail::DeviceNear(), arrivals.end, delay);
                continue;
            }
            if (end == 0) {
                end = detail::WarpLanes::broadcast(detail::DeviceNear().load_word(arrivals.end));
                if (end != 0) polls = BoundedPolls({patience_ns, station.bound.oversubscribed});
            }
            bool all_came = false;
            if (end != 0) {
                all_came = arrivals.tell(findings.checks - told, end);
                told = findings.checks;
            }
            going_on =
                detail::WarpLanes::all(!all_came && polls.again());  // the lanes stay together
        }
        station.report(reporter, findings);
    }
};

}  // namespace carillon::tool
