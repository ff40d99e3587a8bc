// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/taken_once.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <string>

#include "carillon/detail/host/ends_of_blocks.hpp"
#include "carillon/error.hpp"
#include "support/captured_stderr.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using detail::TakenOnce;

// Addresses of an end, and a word of a handler's that is none.
struct EndWords {
    int first = 0;
    int second = 0;
    int other = 0;
};
using WordsOfHandler = std::array<void const*, 3>;

void refuse_words(WordsOfHandler const& handler, unsigned blocks) {
    detail::refuse_copied_ends(handler.data(), sizeof(handler), blocks);
}

TEST(TakenOnceTest, copyOfAnEndIsRefusedWhereverItIs) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    refuse_words({&of.first, &of.second, &of.other}, 1);
    EXPECT_THROW(refuse_words({&of.first, &of.second, &of.other}, 2), UsageError);
    EXPECT_THROW(refuse_words({&of.second, &of.other, &of.first}, 2), UsageError);
}

// Padding holds old bytes: one address of an end that the handler does not have.
TEST(TakenOnceTest, oneAddressIsNoEnd) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    refuse_words({&of.first, &of.other, &of.other}, 2);
    refuse_words({&of.other, &of.second, nullptr}, 2);
}

TEST(TakenOnceTest, endWithOneAddressIsFoundByIt) {
    EndWords const of;
    TakenOnce end;
    end.take("Doorbell::device_handle", CodeLocation::current(), {&of.first, &of.first});
    EXPECT_THROW(refuse_words({&of.other, &of.first, nullptr}, 2), UsageError);
}

// Bytes that were never written may hold an end.
TEST(TakenOnceTest, endWhoseObjectHasGoneIsNone) {
    EndWords const of;
    {
        TakenOnce end;
        end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    }
    refuse_words({&of.first, &of.second, nullptr}, 2);
}

// A line, once, and no error: bytes that were never written may hold an end.
TEST(TakenOnceTest, endThatAnEarlierLaunchHasHadIsToldOf) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    auto const told = [&](auto&& look) {
        testing::internal::CaptureStderr();
        look();
        return captured_stderr();
    };
    auto const launch = [&] { refuse_words({&of.first, &of.second, nullptr}, 1); };
    EXPECT_EQ(told(launch), "");
    std::string const line = told([&] {
        detail::EndsOfBlocks ends(detail::BlockNumbers::unknown);
        WordsOfHandler const words{&of.first, &of.second, nullptr};
        ends.add(0, words.data(), sizeof(words));
        ends.add(0, words.data(), sizeof(words));
    });
    EXPECT_NE(line.find("carillon: the end that Ring::device_handle gave at "), std::string::npos)
        << line;
    EXPECT_NE(line.find("an earlier launch had it too"), std::string::npos) << line;
    EXPECT_EQ(told(launch), "");
}

TEST(TakenOnceTest, endIsFoundWhereverAPackedHandlerHasIt) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    std::array<void const*, 2> const words{&of.first, &of.second};
    std::array<unsigned char, sizeof(words) + 1> packed{};
    std::memcpy(packed.data() + 1, words.data(), sizeof(words));
    EXPECT_THROW(detail::refuse_copied_ends(packed.data(), packed.size(), 2), UsageError);
}

TEST(TakenOnceTest, eachPartOfAnEndCountsForItself) {
    EndWords const requests;
    EndWords const replies;
    TakenOnce end;
    end.take("Channel::device_handle", CodeLocation::current(), {&requests.first, &requests.second},
             {&replies.first, &replies.second});
    EXPECT_THROW(refuse_words({&requests.first, &requests.second, nullptr}, 2), UsageError);
    EXPECT_THROW(refuse_words({&replies.first, &replies.second, nullptr}, 2), UsageError);
}

// A handler's words; the last of them names the owner of the end.
struct OwnedWords {
    void const* first;
    void const* second;
    std::uint64_t owner;

    void refuse(unsigned blocks, detail::BlockNumbers numbers = detail::BlockNumbers::known) const {
        detail::refuse_copied_ends(this, sizeof(*this), blocks, numbers);
    }
};

TEST(TakenOnceTest, endHasOneOwnerThatIsOneOfTheBlocks) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    OwnedWords words{&of.first, &of.second, 0};
    words.owner = detail::mark_as_owned(&words, sizeof(words), 2);
    EXPECT_EQ(static_cast<unsigned>(words.owner), 2U);
    EXPECT_EQ(detail::mark_as_owned(&words, sizeof(words), 2), words.owner);
    EXPECT_THROW((void)detail::mark_as_owned(&words, sizeof(words), 1), UsageError);
    words.refuse(3);
    EXPECT_THROW(words.refuse(2), UsageError);
    EXPECT_THROW(words.refuse(3, detail::BlockNumbers::unknown), UsageError);
    detail::EndsOfBlocks ends(detail::BlockNumbers::known);
    EXPECT_THROW(ends.add(1, &words, sizeof(words)), UsageError);
    ends.add(2, &words, sizeof(words));
}

// Looks beside an owned copy, and in another body after one.
TEST(TakenOnceTest, copyThatNobodyOwnsIsRefused) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    OwnedWords words{&of.first, &of.second, 0};
    EXPECT_NE(detail::mark_as_owned(&words, sizeof(words), 0), 0U);
    EXPECT_THROW(words.refuse(2), UsageError);
}

}  // namespace
}  // namespace carillon::test
