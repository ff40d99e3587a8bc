// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <vector>

#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/mpmc_ring_protocol.hpp"

namespace carillon::test {
using namespace detail;

// An MPMC ring in ordinary aligned memory.
class MpmcRingSlots {
   public:
    explicit MpmcRingSlots(std::uint32_t capacity, std::uint32_t stripe, Sequence first = 1,
                           std::size_t producers = 4, MessageShape const& shape = {})
        : slots_(std::size_t{capacity} * shape.slot_lines),
          given_up_(capacity),
          left_(MpmcRingView::left_words(capacity, stripe)),
          credits_(capacity / stripe),
          records_(producers) {
        auto const shift = static_cast<std::uint32_t>(std::countr_zero(stripe));
        view_ = {slots_.data(),   given_up_.data(), &taken_, left_.data(), &claimed_,
                 credits_.data(), capacity,         shift,   first,        shape};
        format_ring(view_);
    }
    MpmcRingSlots(MpmcRingSlots const&) = delete;
    MpmcRingSlots& operator=(MpmcRingSlots const&) = delete;

    [[nodiscard]] MpmcRingView const& view() const { return view_; }
    [[nodiscard]] ProducerRecord* record(std::size_t i) { return &records_.at(i); }
    [[nodiscard]] std::vector<std::uint64_t> const& credits() const { return credits_; }

   private:
    std::vector<Line> slots_;
    std::vector<std::uint64_t> given_up_;
    std::vector<std::uint64_t> left_;
    std::vector<std::uint64_t> credits_;
    std::vector<ProducerRecord> records_;
    std::uint64_t taken_ = 0;
    std::uint64_t claimed_ = 0;
    MpmcRingView view_{};
};

inline HostMapped const cached_stores({StoreKind::cached, PublishMode::one_step});

template <class T>
using MpmcTestProducer = MpmcProducer<T, HostMapped, HostCached, ClaimRecord>;
template <class T>
using MpmcTestConsumer = MpmcConsumer<T, DeviceNear, DeviceFar, OneThread>;

template <class T>
[[nodiscard]] MpmcTestProducer<T> mpmc_producer(MpmcRingSlots& ring, std::size_t record = 0) {
    return MpmcTestProducer<T>(ring.view(), cached_stores, HostCached(),
                               ClaimRecord(ring.record(record)));
}

// The messages that a consumer took, with their numbers.
template <class T>
struct TakenMessages {
    std::vector<T> messages;
    std::vector<Sequence> numbers;

    // Polls until `count` messages are there, or that many polls and some more found no more.
    template <class Consumer>
    bool poll(Consumer& consumer, std::size_t count) {
        for (std::size_t misses = 0; messages.size() < count && misses < 1000; ++misses) {
            consumer.poll([this](T const& message, Sequence number) {
                messages.push_back(message);
                numbers.push_back(number);
            });
        }
        return messages.size() >= count;
    }
};

}  // namespace carillon::test
