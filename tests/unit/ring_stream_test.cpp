// SPDX-License-Identifier: Apache-2.0
// Two threads, one ring, every message checked.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "support/accesses.hpp"
#include "support/eventually.hpp"
#include "support/ring_memory.hpp"
#include "support/sanitized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

constexpr std::uint64_t messages = under_sanitizer ? 5'000 : 100'000;
// A busy machine need not send all messages, but at least so many.
constexpr std::uint64_t messages_at_least = 500;
constexpr std::chrono::seconds time_for_more{5};

// Message i, and data outside the line that it names.
class Stream {
   public:
    Stream(Access const& access, std::uint32_t capacity, Sequence first)
        : access_(access), memory_(capacity, first), data_(messages) {}

    void run() {
        std::thread producer([this] { produce(); });
        std::uint64_t const right = consume();
        done_.store(true, std::memory_order_relaxed);
        producer.join();
        EXPECT_GE(right, messages_at_least);
        EXPECT_FALSE(wrong_) << "message " << right;
    }

   private:
    struct Named {
        Whole const* data;
        std::uint64_t number[5];
    };

    void produce() {
        auto producer = access_.make_producer<Named>(memory_.view());
        for (std::uint64_t i = 0; i < messages; ++i) {
            data_.at(i) = Whole::make(i);
            Named const message{&data_.at(i), {i, i + 1, i + 2, i + 3, i + 4}};
            bool pushed = false;
            (void)eventually([&] {
                pushed = producer.try_push(message, OutOfLine::written);
                return pushed || done_.load(std::memory_order_relaxed);
            });
            if (!pushed) return;
        }
    }

    // How many messages came, each whole, in order and with its data.
    std::uint64_t consume() {
        auto consumer = access_.make_consumer<Named>(memory_.view());
        auto const enough = std::chrono::steady_clock::now() + time_for_more;
        Named message{};
        for (std::uint64_t i = 0; i < messages; ++i) {
            if (!eventually([&] { return consumer.try_pop(message); })) return i;
            for (std::uint64_t n = 0; n < 5; ++n) wrong_ |= message.number[n] != i + n;
            wrong_ = wrong_ || *message.data != Whole::make(i);
            if (wrong_) return i;
            bool const look = i % 256 == 255 && i > messages_at_least;
            if (look && std::chrono::steady_clock::now() > enough) return i;
        }
        return messages;
    }

    Access access_;
    RingMemory memory_;
    std::vector<Whole> data_;
    std::atomic<bool> done_ = false;
    bool wrong_ = false;
};

class RingStreamTest : public AccessTest {};
INSTANTIATE_TEST_SUITE_P(Over, RingStreamTest, testing::ValuesIn(all_accesses()),
                         test_name<Access>);

// These catch a torn line, a slot that is written too early, a credit that is returned too early,
// and a line that overtakes the data that it names (P1 without C1, or the reverse).
TEST_P(RingStreamTest, messagesCrossWholeInOrderAndWithTheirDataThrough2Slots) {
    Stream(GetParam(), 2, 1).run();
}

TEST_P(RingStreamTest, messagesCrossWholeInOrderAndWithTheirDataThrough4Slots) {
    Stream(GetParam(), 4, just_below_the_tags_wrap).run();
}

TEST_P(RingStreamTest, messagesCrossWholeInOrderAndWithTheirDataThrough64Slots) {
    Stream(GetParam(), 64, 1).run();
}

}  // namespace
}  // namespace carillon::test
