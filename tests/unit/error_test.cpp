// SPDX-License-Identifier: Apache-2.0
#include "carillon/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>

namespace carillon {
namespace {

using testing::Test;

template <class E>
class PlainErrorTest : public Test {};
using PlainErrors =
    testing::Types<UsageError, DeviceNotFoundError, UnsupportedError, OutOfMemoryError,
                   TimeoutError, StoppedError, FormatError, ProtocolError>;
TYPED_TEST_SUITE(PlainErrorTest, PlainErrors);

TYPED_TEST(PlainErrorTest, textIsTheCallAndTheCause) {
    TypeParam const error("Some::call", "it went wrong");
    EXPECT_STREQ(error.what(), "Some::call: it went wrong");
    EXPECT_EQ(error.call(), "Some::call");
}

TYPED_TEST(PlainErrorTest, isCaughtAsErrorAndAsRuntimeError) {
    EXPECT_THROW(throw TypeParam("call", "cause"), Error);
    EXPECT_THROW(throw TypeParam("call", "cause"), std::runtime_error);
}

template <class E>
class CodedErrorTest : public Test {};
using CodedErrors = testing::Types<CudaError, VulkanError>;
TYPED_TEST_SUITE(CodedErrorTest, CodedErrors);

TYPED_TEST(CodedErrorTest, textIsTheCallTheNameAndTheNumber) {
    TypeParam const error("someCall", -1000069000, "ERROR_OUT_OF_POOL");
    EXPECT_STREQ(error.what(), "someCall: ERROR_OUT_OF_POOL (-1000069000)");
    EXPECT_EQ(error.call(), "someCall");
    EXPECT_EQ(error.code(), -1000069000);
    EXPECT_EQ(error.code_name(), "ERROR_OUT_OF_POOL");
}

TYPED_TEST(CodedErrorTest, isCaughtAsCodedError) {
    EXPECT_THROW(throw TypeParam("call", 1, "NAME"), CodedError);
}

TEST(SystemErrorTest, textIsTheCallTheSystemsWordsAndTheNumber) {
    SystemError const error("mmap", EACCES);
    EXPECT_STREQ(error.what(), "mmap: EACCES (13): Permission denied");
    EXPECT_EQ(error.code(), EACCES);
}

TEST(SystemErrorTest, limitThatWasReachedIsNamedUnlessTheCallerKnowsMore) {
    auto const text = [](int error, char const* hint = "") {
        return std::string(SystemError("call", error, hint).what());
    };
    EXPECT_NE(text(EMFILE).find("EMFILE (24): Too many open files: this process has"),
              std::string::npos);
    EXPECT_NE(text(EMFILE).find("RLIMIT_NOFILE"), std::string::npos);
    EXPECT_NE(text(ENFILE).find("fs.file-max"), std::string::npos);
    EXPECT_NE(text(ENOMEM).find("RLIMIT_AS"), std::string::npos);
    EXPECT_EQ(text(ENOMEM, "a cause"), "call: ENOMEM (12): Cannot allocate memory: a cause");
}

TEST(ResidencyErrorTest, textHasBothNumbers) {
    ResidencyError const error(65, 64);
    EXPECT_STREQ(error.what(), "65 blocks requested, but 64 can be resident at once");
    EXPECT_EQ(error.asked(), 65U);
    EXPECT_EQ(error.fit(), 64U);
}

TEST(TimeoutErrorTest, tellsTheTimeOfTheWholeWaitWhereItsLastPartIsOver) {
    using namespace std::chrono_literals;
    TimeoutError part("not ended within ", 50ms, "; 20 ms are a part of it");
    part.name_call("Some::drain");
    EXPECT_STREQ(part.of_whole(3s).what(),
                 "Some::drain: not ended within 3 s; 20 ms are a part of it");
    TimeoutError const timeless("no reply after 5 ms", true);
    EXPECT_STREQ(timeless.of_whole(3s).what(), timeless.what());
    EXPECT_TRUE(timeless.of_whole(3s).sent());
}

TEST(TimeoutErrorTest, timeoutBelow0IsAWaitOf0) {
    using namespace std::chrono_literals;
    EXPECT_STREQ(TimeoutError("not ended within ", -1ns, "").what(), "not ended within 0 s");
}

TEST(ErrorTest, aByteZeroDoesNotEndTheText) {
    Error const error("Call", std::string_view("before\0behind", 13));
    EXPECT_STREQ(error.what(), "Call: before\\0behind");
    EXPECT_EQ(error.cause(), "before\\0behind");
}

TEST(ErrorTest, causeIsTheTextWithoutTheCall) {
    UsageError const error("Some::call", "a cause: with a colon");
    EXPECT_EQ(error.cause(), "a cause: with a colon");
    EXPECT_FALSE(error.ended_kernel());
}

}  // namespace
}  // namespace carillon
