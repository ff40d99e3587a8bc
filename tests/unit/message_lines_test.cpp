// SPDX-License-Identifier: Apache-2.0
// Messages of several lines.
#include "carillon/detail/protocol/message_lines.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "carillon/detail/protocol/mpmc_producer.hpp"
#include "support/ring_memory.hpp"
#include "support/sized.hpp"

namespace carillon::test {
using namespace detail;
namespace {

template <class T>
Quad& nth_quad(Packed<T>& message, std::size_t i) {
    return lines_in(message)[i / quads_per_line].quads[i % quads_per_line];
}

// Messages of two lines, of three, and of more than are in flight at once.
using SizesInLines =
    testing::Types<SizedWords<56>, SizedWords<104>, SizedWords<200>, SizedWords<1024>>;
template <class T>
class MessageLinesTest : public testing::Test {
   protected:
    RingMemory memory_{4, just_below_the_tags_wrap, slot_lines_of<T>};

    void put(Packed<T> const& message) { std::memcpy(&memory_.slot(0), &message, sizeof(message)); }
    // Whether `take(message)` takes it when all quads are there, and not while one is missing.
    template <class Take>
    void expect_taken_whole(Take&& take) {
        T const sent = T::make(7);
        Packed<T> const whole = pack(sent, tag_of(just_below_the_tags_wrap));
        T got{};
        for (std::size_t missing = 0; missing < quads_of<T>; ++missing) {
            Packed<T> partly = whole;
            nth_quad<T>(partly, missing) = Quad{};
            put(partly);
            EXPECT_FALSE(take(got)) << missing;
        }
        put(whole);
        ASSERT_TRUE(take(got));
        EXPECT_EQ(got, sent);
    }
    template <class Far>
    void expect_crossing(Far const& far) {
        RingMemory memory(4, just_below_the_tags_wrap, slot_lines_of<T>);
        Producer<T, Far, HostCached> producer(memory.view(), far);
        Consumer<T, DeviceNear, DeviceFar> consumer(memory.view());
        std::vector<T> const two{T::make(1001), T::make(1002)};
        for (std::uint64_t i = 0; i < 10; ++i) {
            T got{};
            ASSERT_TRUE(producer.try_push(T::make(i)));
            ASSERT_TRUE(consumer.try_pop(got));
            EXPECT_EQ(got, T::make(i));
            ASSERT_EQ(producer.try_push_n(two.data(), two.size()), two.size());
            for (T const& each : two) {
                ASSERT_TRUE(consumer.try_pop(got));
                EXPECT_EQ(got, each);
            }
            EXPECT_FALSE(consumer.try_pop(got));
        }
    }
};
TYPED_TEST_SUITE(MessageLinesTest, SizesInLines);

// Catches a consumer that looks at some of the lines only.
TYPED_TEST(MessageLinesTest, messageIsTakenWhenAllOfItsQuadsAreThere) {
    Consumer<TypeParam, DeviceNear, DeviceFar> device(this->memory_.view());
    this->expect_taken_whole([&](TypeParam& got) { return device.try_pop(got); });
    Consumer<TypeParam, HostCached, HostMapped> host(this->memory_.view());
    this->expect_taken_whole([&](TypeParam& got) { return host.try_pop(got); });
}

TYPED_TEST(MessageLinesTest, lanesTakeItWhenAllOfItsQuadsAreThere) {
    Consumer<TypeParam, DeviceNear, DeviceFar> consumer(this->memory_.view());
    this->expect_taken_whole([&](TypeParam& got) {
        detail::MessageWords<lines_of<TypeParam>> words{};
        auto const put = [&](std::size_t i, Quad const& quad) {
            std::uint32_t* const word = words.word + i * payload_words_per_quad;
            word[0] = static_cast<std::uint32_t>(quad.low);
            word[1] = static_cast<std::uint32_t>(quad.low >> 32);
            word[2] = static_cast<std::uint32_t>(quad.high);
        };
        if (!consumer.try_take_quads(put)) return false;
        std::memcpy(&got, &words, sizeof(got));
        return true;
    });
}

// Catches a policy that stores some of the lines only.
TYPED_TEST(MessageLinesTest, everyWayOfStoringStoresAllLines) {
    this->expect_crossing(DeviceFar());
    this->expect_crossing(DeviceBulkFar());
    for (PublishMode const mode : {PublishMode::one_step, PublishMode::two_step}) {
        this->expect_crossing(HostMapped({StoreKind::cached, mode}));
    }
}

// Logs the accesses to mapped memory in order: 'o' a line under old tags, 'n' under new ones, 'f' a
// fence, 'b' a read back.
struct LoggingCpu : X86 {
    static inline std::string log;
    static inline Tag awaited = 0;
    static void store_line(StoreKind kind, Line* to, Line const& line) {
        log += line.quads[0].tag() == awaited ? 'n' : 'o';
        X86::store_line(kind, to, line);
    }
    static void store_fence() { log += 'f'; }
    static void read_back(std::uint64_t const* /*from*/) { log += 'b'; }
};

// Catches a line of the second step that can arrive before one of the first.
TYPED_TEST(MessageLinesTest, twoStepsAreAllLinesUnderTheOldTagsAFenceAndAllUnderTheNewOnes) {
    using Far = BasicHostMapped<LoggingCpu>;
    std::uint64_t const word = 0;
    std::string const old(lines_of<TypeParam>, 'o');
    std::string const fresh(lines_of<TypeParam>, 'n');
    LoggingCpu::awaited = tag_of(just_below_the_tags_wrap);
    for (bool const two_step : {false, true}) {
        HostStores const stores{StoreKind::sse2,
                                two_step ? PublishMode::two_step : PublishMode::one_step};
        RingMemory memory(4, just_below_the_tags_wrap, slot_lines_of<TypeParam>);
        Producer<TypeParam, Far, HostCached> producer(memory.view(), Far(stores, nullptr, &word));
        LoggingCpu::log.clear();
        ASSERT_TRUE(producer.try_push(TypeParam::make(1)));
        EXPECT_EQ(LoggingCpu::log, two_step ? old + "fb" + fresh + 'f' : fresh + 'f');
    }
}

// 'r' a release, 'q' a quad.
struct LoggingFar : DeviceFar {
    static inline std::string log;
    static void release() { log += 'r'; }
    void store_quad(Quad* to, Quad const& quad) const {
        log += 'q';
        DeviceFar::store_quad(to, quad);
    }
};

// Catches data that are released behind the message that refers to them, or never.
TYPED_TEST(MessageLinesTest, whatLanesSendIsBehindTheDataThatItRefersTo) {
    Producer<TypeParam, LoggingFar, DeviceNear> producer(this->memory_.view());
    TypeParam const sent = TypeParam::make(3);
    struct QuadOf {
        std::uint32_t word[payload_words_per_quad];
    };
    auto const words_of = [&](std::size_t i) {
        QuadOf words{};
        std::size_t const begin = i * sizeof(words);
        std::memcpy(&words, reinterpret_cast<char const*>(&sent) + begin,
                    std::min(sizeof(words), sizeof(sent) - begin));
        return words;
    };
    std::string const quads(quads_of<TypeParam>, 'q');
    LoggingFar::log.clear();
    ASSERT_TRUE(producer.try_push_shared_out(words_of, OutOfLine::written));
    EXPECT_EQ(LoggingFar::log, 'r' + quads);
    ASSERT_TRUE(producer.try_push_shared_out(words_of));
    EXPECT_EQ(LoggingFar::log, 'r' + quads + quads);
    Consumer<TypeParam, HostCached, HostMapped> host(this->memory_.view());
    for (int i = 0; i < 2; ++i) {
        TypeParam got{};
        ASSERT_TRUE(host.try_pop(got));
        EXPECT_EQ(got, sent);
    }
}

// Catches a request of a dead client that is given up although it will be answered, or held for an
// answer that never comes.
TYPED_TEST(MessageLinesTest, requestWasWrittenWhenAllOfItsQuadsWere) {
    MpmcRingView view{};
    view.base = &this->memory_.slot(0);
    view.capacity = 4;
    view.shape = shape_of<TypeParam>();
    Sequence const number = 5;
    for (std::size_t missing = 0; missing < quads_of<TypeParam>; ++missing) {
        auto partly = pack(TypeParam::make(7), tag_of(number));
        nth_quad<TypeParam>(partly, missing).high = std::uint64_t{1} << 32;
        this->put(partly);
        EXPECT_FALSE(was_written(view, number, HostCached())) << missing;
    }
    this->put(pack(TypeParam::make(7), tag_of(number)));
    EXPECT_TRUE(was_written(view, number, HostCached()));
}

// Catches credit that is returned for lines that were not taken, or is kept for ever.
TYPED_TEST(MessageLinesTest, lanesReturnCreditForWhatTheyTookAndAllOfItAfterManyLooks) {
    auto const nothing = [](std::size_t /*i*/, Quad const& /*quad*/) {};
    Sequence const first = just_below_the_tags_wrap;
    RingMemory memory(16, first, slot_lines_of<TypeParam>);
    Producer<TypeParam, DeviceFar, DeviceNear> producer(memory.view());
    Consumer<TypeParam, DeviceNear, DeviceFar> consumer(memory.view());
    for (std::uint64_t i = 0; i < 5; ++i) {
        ASSERT_TRUE(producer.try_push(TypeParam::make(i)));
        ASSERT_TRUE(consumer.try_take_quads(nothing));
        EXPECT_EQ(memory.credit(), first - 1 + (i < 4 ? 0 : 4));
    }
    for (unsigned i = 1; i < decltype(consumer)::misses_before_return; ++i) {
        ASSERT_FALSE(consumer.try_take_quads(nothing));
        ASSERT_EQ(memory.credit(), first - 1 + 4);
    }
    ASSERT_FALSE(consumer.try_take_quads(nothing));
    EXPECT_EQ(memory.credit(), first - 1 + 5);
}

// Expects that the packed row has no ones, although the messages' padding is all ones.
template <class T>
void expect_no_ones(void (*set_rest)(T&) = [](T& /*message*/) {}) {
    T messages[3];
    std::memset(&messages, 0xff, sizeof(messages));
    for (T& message : messages) {
        message.tag = 1;
        message.value = 2;
        set_rest(message);
    }
    Line lines[3]{};
    HostMapped const far({StoreKind::cached, PublishMode::one_step, StoreKind::cached});
    detail::store_messages<T>(far, lines, 1, messages, 3, 1, 0);
    for (Line const& line : lines) {
        unsigned char bytes[sizeof(T)];
        detail::payload_of_lines<sizeof(T)>(bytes, &line);
        EXPECT_EQ(std::count(std::begin(bytes), std::end(bytes), 0xff), 0);
        EXPECT_EQ(bytes[8], 2);
    }
}

// Rows go as they lie in memory, where a message fills its line, and others by a copy.
TEST(MessageRowsTest, paddingIsZero) {
    struct Small {
        char tag;
        std::uint64_t value;
    };
    struct Whole {
        char tag;
        std::uint64_t value;
        std::uint64_t zeros[4];
    };
    static_assert(sizeof(Whole) == payload_bytes);
    expect_no_ones<Small>();
    expect_no_ones<Whole>([](Whole& message) { std::ranges::fill(message.zeros, 0U); });
}

}  // namespace
}  // namespace carillon::test
