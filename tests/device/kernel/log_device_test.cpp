// SPDX-License-Identifier: Apache-2.0
// Kernels that log: which messages reach the sink, in which order, and how lost ones are counted.
#include "carillon/log.hpp"

#include <atomic>
#include <limits>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/captured_stderr.hpp"

namespace carillon::test {

// Logs a value of each kind.
struct LogKindsBody {
    DeviceLog to;

    CARILLON_HD void operator()(unsigned /*block*/) {
        log<"nothing but {{text}}">(to);
        log<"{} and {}">(to, -5, 5U);
        log<"{} {:x} {}">(to, static_cast<short>(-7), ~std::uint64_t{0}, -(std::int64_t{1} << 62));
        log<"{} or {}", LogLevel::debug>(to, true, false);
        log<"{:.3f} {}", LogLevel::warning>(to, 2.0 / 3, 0.5F);
        log<"{}, {}, {}, {}", LogLevel::error>(to, 1, 2.5, true, 4U);
        log<"{} for {} or {}">(to, 'B', 0.1F, 0.1);
    }
};

// Each block logs `count` numbered messages.
struct LogCountBody {
    DeviceLog to;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned block) {
        for (std::uint32_t i = 0; i < count; ++i) log<"message {} of block {}">(to, i, block);
    }
};

struct LogHandler {
    DeviceLog to;

    CARILLON_HD int operator()(int value) {
        log<"asked for {}">(to, value);
        return value + 1;
    }
};

namespace {

// Keeps the messages that it gets; any thread may look at them.
class LogKeeper {
   public:
    [[nodiscard]] LogSink sink() {
        return [this](LogRecord const& record) {
            std::lock_guard const lock(mutex_);
            records_.push_back(record);
        };
    }
    [[nodiscard]] std::vector<LogRecord> records() const {
        std::lock_guard const lock(mutex_);
        return records_;
    }

   private:
    mutable std::mutex mutex_;
    std::vector<LogRecord> records_;
};

class LogTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(LogTest);

TEST_P(LogTest, textsHaveTheirArgumentsOfEveryKind) {
    LogKeeper keeper;
    LogService const service(device(), {.sink = keeper.sink()});
    ASSERT_TRUE(launch(device(), 1, LogKindsBody{service.device_handle()}).wait(patience));
    service.flush(patience);
    std::vector<std::string> texts;
    std::vector<LogLevel> levels;
    for (LogRecord const& record : keeper.records()) {
        texts.push_back(record.text);
        levels.push_back(record.level);
    }
    EXPECT_EQ(texts,
              (std::vector<std::string>{"nothing but {text}", "-5 and 5",
                                        "-7 ffffffffffffffff -4611686018427387904", "true or false",
                                        "0.667 0.5", "1, 2.5, true, 4", "B for 0.1 or 0.1"}));
    using enum LogLevel;
    EXPECT_EQ(levels, (std::vector<LogLevel>{info, info, info, debug, warning, error, info}));
    EXPECT_EQ(service.dropped(), 0U);
}

TEST_P(LogTest, messagesOfABlockComeInOrderWithItsNumberAndTime) {
    constexpr std::uint32_t count = 300;
    constexpr unsigned blocks = 3;
    LogKeeper keeper;
    LogService const service(device(), {.sink = keeper.sink()});
    ASSERT_TRUE(
        launch(device(), blocks, LogCountBody{service.device_handle(), count}).wait(patience));
    service.flush(patience);
    std::map<unsigned, std::uint32_t> next;
    std::map<unsigned, std::uint64_t> time;
    for (LogRecord const& record : keeper.records()) {
        EXPECT_EQ(record.text, "message " + std::to_string(next[record.block]++) + " of block " +
                                   std::to_string(record.block));
        EXPECT_GE(record.time_ns, time[record.block]);
        time[record.block] = record.time_ns;
    }
    for (unsigned block = 0; block < blocks; ++block) EXPECT_EQ(next[block], count) << block;
}

TEST_P(LogTest, messagesWithoutRoomAreDroppedAndCounted) {
    constexpr std::uint32_t count = 100;
    constexpr std::uint32_t capacity = 32;
    std::atomic<bool> open = false;
    std::atomic<std::uint64_t> got = 0;
    LogService const service(device(), {.capacity = capacity, .sink = [&](LogRecord const&) {
                                            EXPECT_TRUE(eventually([&] { return open.load(); }));
                                            ++got;
                                        }});
    ASSERT_TRUE(launch(device(), 1, LogCountBody{service.device_handle(), count}).wait(patience));
    EXPECT_EQ(service.dropped(), count - capacity);
    CARILLON_EXPECT_ERROR(service.flush(1ms), TimeoutError, "LogService::flush");
    open = true;
    service.flush(patience);
    EXPECT_EQ(got, capacity);
    EXPECT_EQ(service.dropped(), count - capacity);
}

TEST_P(LogTest, sinkThatThrowsGetsTheNextMessageAllTheSame) {
    constexpr std::uint32_t count = 10;
    std::uint64_t got = 0;
    LogService const service(device(), {.sink = [&](LogRecord const&) {
                                 if (++got % 2 == 0) throw std::runtime_error("the sink is full");
                             }});
    ASSERT_TRUE(launch(device(), 1, LogCountBody{service.device_handle(), count}).wait(patience));
    service.flush(patience);
    EXPECT_EQ(got, count);
    EXPECT_EQ(service.failures(), count / 2);
    CARILLON_EXPECT_ERROR(service.rethrow_failure(), std::runtime_error, "the sink is full");
}

TEST_P(LogTest, whatAnsweredRequestsHaveLoggedIsThereAfterAFlush) {
    LogKeeper keeper;
    LogService const service(device(), {.sink = keeper.sink()});
    PersistentKernel<LogHandler> kernel(device(), {}, {service.device_handle()});
    for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(kernel.channel().call(i, patience), i + 1);
        service.flush(patience);
        ASSERT_EQ(keeper.records().size(), static_cast<std::size_t>(i) + 1);
        EXPECT_EQ(keeper.records().back().text, "asked for " + std::to_string(i));
    }
}

TEST_P(LogTest, destructorHandsOverWhatWasLogged) {
    constexpr std::uint32_t count = 50;
    LogKeeper keeper;
    {
        LogService const service(device(),
                                 {.sink = keeper.sink(), .thread = {.spin = 0ns, .sleep = 10s}});
        ASSERT_TRUE(
            launch(device(), 1, LogCountBody{service.device_handle(), count}).wait(patience));
    }
    EXPECT_EQ(keeper.records().size(), count);
}

TEST_P(LogTest, withoutASinkMessagesGoToStandardError) {
    testing::internal::CaptureStderr();
    {
        LogService const service(device());
        EXPECT_TRUE(launch(device(), 2, LogCountBody{service.device_handle(), 1}).wait(patience));
    }
    std::string const lines = captured_stderr();
    for (char const* const text : {"message 0 of block 0\n", "message 0 of block 1\n"}) {
        EXPECT_NE(lines.find(text), std::string::npos) << lines;
    }
    EXPECT_EQ(lines.find("carillon: [block "), 0U) << lines;
}

}  // namespace
}  // namespace carillon::test
