// SPDX-License-Identifier: Apache-2.0
// The name in an error that has left the library's calls through which it came.
#include "carillon/detail/host/door.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"

namespace carillon::test {
namespace {

using detail::in_call;
using detail::in_callback;

[[noreturn]] void fail() { throw UsageError("it went wrong"); }

struct MadeOf {
    MadeOf() try { in_call("Inner", fail); } catch (...) {
        detail::throw_named("MadeOf");
    }
};

// The text and the call of what `act` throws.
template <class Thrown, class Act>
std::string thrown(Act&& act) {
    try {
        act();
    } catch (Thrown const& error) {
        std::string const text = error.what();
        EXPECT_EQ(text, error.call().empty() ? std::string(error.cause())
                                             : error.call() + ": " + std::string(error.cause()));
        return text;
    }
    return "nothing";
}

TEST(DoorTest, errorHasNoNameBehindADoor) { EXPECT_EQ(thrown<UsageError>(fail), "it went wrong"); }

TEST(DoorTest, errorThatLeavesTwoDoorsHasTheNameOfTheOuterOne) {
    auto const inner = [] { in_call("Inner::call", fail); };
    EXPECT_EQ(thrown<UsageError>(inner), "Inner::call: it went wrong");
    EXPECT_EQ(thrown<UsageError>([&] { in_call("Outer::call", inner); }),
              "Outer::call: it went wrong");
    EXPECT_EQ(thrown<UsageError>([] { MadeOf(); }), "MadeOf: it went wrong");
}

TEST(DoorTest, errorOfADriverHasTheNameOfThePublicCallBeforeItsOwn) {
    auto const refused = [] { throw CudaError("cuMemAlloc", 2, "NO_ROOM"); };
    auto const inner = [&] { in_call("Device::allocate", refused); };
    EXPECT_EQ(thrown<CudaError>(refused), "cuMemAlloc: NO_ROOM (2)");
    EXPECT_EQ(thrown<CudaError>(inner), "Device::allocate: cuMemAlloc: NO_ROOM (2)");
    EXPECT_EQ(thrown<CudaError>([&] { in_call("Ring", inner); }), "Ring: cuMemAlloc: NO_ROOM (2)");
}

TEST(DoorTest, errorOfACallThatTheProgramsFunctionMakesKeepsItsName) {
    auto const function = [] { in_call("Ring::push", fail); };
    EXPECT_EQ(
        thrown<UsageError>([&] { in_call("MpmcRing::poll", [&] { in_callback(function); }); }),
        "Ring::push: it went wrong");
}

TEST(DoorTest, whatIsNoErrorOfThisLibraryPasses) {
    EXPECT_THROW(in_call("Some::call", [] { throw std::length_error("theirs"); }),
                 std::length_error);
    EXPECT_THROW(in_callback([] { throw 3; }), int);
}

TEST(DoorTest, whatTheBodyReturnsIsReturned) {
    int value = 3;
    EXPECT_EQ(&in_call("Some::call", [&]() -> int& { return value; }), &value);
    EXPECT_EQ(in_call("Some::call", detail::ProcessMark(), [&] { return value; }), 3);
    EXPECT_EQ(in_call("Some::call", &value, detail::ProcessMark(), [&] { return value; }), 3);
}

TEST(DoorTest, membersOfAnErrorStay) {
    using namespace std::chrono_literals;
    try {
        in_call("Some::drain", [] { throw TimeoutError("not ended within ", 50ms, ""); });
        FAIL();
    } catch (TimeoutError const& error) {
        EXPECT_STREQ(error.what(), "Some::drain: not ended within 50 ms");
        EXPECT_STREQ(error.of_whole(3s).what(), "Some::drain: not ended within 3 s");
    }
}

}  // namespace
}  // namespace carillon::test
