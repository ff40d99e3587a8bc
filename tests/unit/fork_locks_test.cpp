// SPDX-License-Identifier: Apache-2.0
// Locks that a process has only one of: other threads take them again and again while the process
// forks. Its children, which have none of those threads, take them too.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <functional>
#include <ostream>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "carillon/detail/kernel/log_message.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/language.hpp"
#include "device/allocation.hpp"
#include "emulated/emulated_backend.hpp"
#include "nvrtc/handler_code.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using Bytes = std::array<std::byte, 64>;

struct Locked {
    std::string name;
    std::function<void(Bytes&)> use;  // of one thread's bytes
};
std::ostream& operator<<(std::ostream& out, Locked const& locked) { return out << locked.name; }

class ForkLocksTest : public testing::TestWithParam<Locked> {};

// 1. Threads use an object. 2. Beside them the process forks. 3. The child uses the object, too.
TEST_P(ForkLocksTest, childUsesWhatThreadsOfItsParentUseAtTheFork) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    if (CARILLON_ADDRESS_SANITIZER != 0) {
        GTEST_SKIP() << "a thread may have a lock of the sanitizer's allocator at the fork";
    }
    auto const use_often = [](std::stop_token const& stop) {
        Bytes bytes{};
        while (!stop.stop_requested()) GetParam().use(bytes);
    };
    Bytes first{};
    GetParam().use(first);  // what is made at the first use is there
    std::array<std::jthread, 2> const users{std::jthread(use_often), std::jthread(use_often)};
    for (int i = 0; i < 60; ++i) {
        ASSERT_EQ(in_child([] {
                      Bytes bytes{};
                      GetParam().use(bytes);
                      return 0;
                  }),
                  0);
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, ForkLocksTest,
    testing::Values(
        Locked{"mappedRanges",
               [](Bytes& bytes) {
                   detail::ListedRange const range(&bytes, &bytes, bytes.size(), false);
               }},
        Locked{"registeredRanges", [](Bytes& bytes) { (void)detail::register_range(bytes); }},
        Locked{"blockRunner", [](Bytes& /*bytes*/) { (void)detail::block_of({}); }},
        Locked{"knownKernels", [](Bytes& /*bytes*/) { (void)detail::KnownKernel::last_number(); }},
        Locked{"logTexts",
               [](Bytes& /*bytes*/) { (void)detail::LogRegistry::of_program().find(1); }},
        Locked{"compiledHandlers",
               [](Bytes& /*bytes*/) { (void)detail::HandlerCache({}).find("none"); }}),
    testing::PrintToStringParamName());

}  // namespace
}  // namespace carillon::test
