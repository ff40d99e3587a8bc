// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/taken_once.hpp"

#include <gtest/gtest.h>

#include <array>

#include "carillon/error.hpp"

namespace carillon::test {
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
    detail::refuse_copied_ends("launch", handler.data(), sizeof(handler), blocks);
}

TEST(TakenOnceTest, copyOfAnEndIsRefusedWhereverItIs) {
    EndWords const of;
    TakenOnce end;
    end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    refuse_words({&of.first, &of.second, &of.other}, 1);
    EXPECT_THROW(refuse_words({&of.first, &of.second, &of.other}, 2), UsageError);
    EXPECT_THROW(refuse_words({&of.second, &of.other, &of.first}, 2), UsageError);
}

// Padding holds what was there before: one address of an end that the handler does not have.
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

TEST(TakenOnceTest, endWhoseObjectHasGoneIsForgotten) {
    EndWords const of;
    {
        TakenOnce end;
        end.take("Ring::device_handle", CodeLocation::current(), {&of.first, &of.second});
    }
    refuse_words({&of.first, &of.second, nullptr}, 2);
}

}  // namespace
}  // namespace carillon::test
