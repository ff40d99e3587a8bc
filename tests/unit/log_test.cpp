// SPDX-License-Identifier: Apache-2.0
// The host's table of log texts, and how it formats a message.
#include "carillon/log.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string_view>

#include "carillon/error.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using detail::LogMessage;
using detail::LogRegistry;

constexpr std::size_t placeholders_of(std::string_view text) {
    return detail::log_placeholders(text.data(), text.size());
}
static_assert(placeholders_of("") == 0);
static_assert(placeholders_of("none {{}} here }}{{") == 0);
static_assert(placeholders_of("{} and {:.3f}{{{}}}") == 3);

// FNV-1a's own test vectors.
static_assert(detail::log_hash("", 0) == 0x811c9dc5U);
static_assert(detail::log_hash("foobar", 6) == 0xbf9cf968U);

using LogIntSite = detail::LogSite<"{}", int>;
using LogDoubleSite = detail::LogSite<"{}", double>;
static_assert(LogIntSite::id != LogDoubleSite::id, "the kinds are a part of it");
static_assert(std::string_view(LogIntSite::kinds) == "i");
static_assert(std::string_view(detail::LogSite<"{}{}{}", bool, unsigned char, float>::kinds) ==
              "buf");

TEST(LogRegistryTest, knowsTextsByTheirIds) {
    LogRegistry registry;
    registry.add(7, {"price {}", "f"});
    registry.add(7, {"price {}", "f"});  // another library has it too
    registry.require_sound();
    LogMessage message{7, 0, 0, {detail::log_word(2.5)}};
    EXPECT_EQ(detail::log_text(registry, message), "price 2.5");
    message.id = 8;
    EXPECT_EQ(detail::log_text(registry, message), "a message with an unknown text, 0x00000008");
}

// Destroyed after all that begins with main(): ends the process, with 0 if the text is there.
struct LooksAtTheEnd {
    bool looks = false;
    ~LooksAtTheEnd() {
        if (!looks) return;
        auto const found = LogRegistry::of_program().find(7);
        std::_Exit(found && found->text == "a text that has memory of its own: {}" ? 0 : 1);
    }
};
[[gnu::init_priority(101)]] LooksAtTheEnd looks_at_the_end;

TEST(LogRegistryTest, isThereForStaticObjectsThatGoLater) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(
        {
            auto& registry = LogRegistry::of_program();
            registry.add(7, {"a text that has memory of its own: {}", "i"});
            looks_at_the_end.looks = true;
            std::exit(2);  // NOLINT(concurrency-mt-unsafe)
        },
        testing::ExitedWithCode(0), "");
}

TEST(LogRegistryTest, refusesTwoTextsOfOneId) {
    LogRegistry registry;
    registry.add(7, {"price {}", "f"});
    registry.add(7, {"limit {}", "f"});
    CARILLON_EXPECT_ERROR(registry.require_sound(), UsageError,
                          "the log texts \"price {}\" and \"limit {}\" have the same "
                          "number, 0x00000007: change one of them");
}

TEST(LogRegistryTest, refusesOneTextWithArgumentsOfTwoKindsUnderOneId) {
    LogRegistry registry;
    registry.add(7, {"price {}", "f"});
    registry.add(7, {"price {}", "i"});
    EXPECT_THROW(registry.require_sound(), UsageError);
}

TEST(LogRegistryTest, refusesATextThatCannotBeFormatted) {
    LogRegistry registry;
    registry.add(7, {"price {:x}", "f"});
    CARILLON_EXPECT_ERROR(registry.require_sound(), UsageError,
                          "the log text \"price {:x}\" cannot be formatted: ");
    LogMessage const message{7, 0, 0, {}};
    EXPECT_EQ(detail::log_text(registry, message).find("price {:x} ("), 0U);
}

TEST(LogLineTest, namesBlockAndTimeAndALevelThatIsNotInfo) {
    LogRecord record{12'345'678'901, 3, LogLevel::info, "text"};
    EXPECT_EQ(detail::log_line(record), "carillon: [block 3, 12.345678901] text");
    record.time_ns = 5'000'000'001;
    record.level = LogLevel::warning;
    EXPECT_EQ(detail::log_line(record), "carillon: [block 3, 5.000000001] warning: text");
}

}  // namespace
}  // namespace carillon::test
