// SPDX-License-Identifier: Apache-2.0
// Choices that a program cannot have: the error comes at once, with the cause, and in the terms of
// the program's request.
#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

struct Fourfold {
    CARILLON_HD int operator()(int const& value) const { return 4 * value; }
};

class ChoicesTest : public KernelTest {};

TEST_P(ChoicesTest, optionsThatNoKernelCanHaveAreUsageErrorsOfTheOneThatWasAsked) {
    struct Case {
        KernelOptions options;
        char const* cause;
    };
    for (Case const& each : {
             Case{{.blocks = 0}, "0 blocks: a kernel has at least one block"},
             Case{{.capacity = 0}, "a capacity of 0 is not"},
             Case{{.capacity = 1U << 24}, "a capacity of 16777216 is not"},
             Case{{.lifetime = -1ns}, "a lifetime of -1 ns is negative"},
             Case{{.host_limit = -1s}, "a host_limit of -1 s is too short: use 10 ms or more"},
             Case{{.host_limit = 1ns}, "a host_limit of 1 ns is too short: use 10 ms or more"},
         }) {
        SCOPED_TRACE(each.cause);
        std::string const cause = std::string(": ") + each.cause;
        CARILLON_EXPECT_ERROR(PersistentKernel<Fourfold>(device(), each.options), UsageError,
                              "PersistentKernel" + cause);
        CARILLON_EXPECT_ERROR((PersistentKernel<Fourfold, Pool>(device(), each.options)),
                              UsageError, "PersistentKernel" + cause);
    }
    PersistentKernel<Fourfold> kernel(device(), {.lifetime = 0ns, .host_limit = 0ns});
    EXPECT_EQ(kernel.channel().call(2, patience), 8);
}

TEST_P(ChoicesTest, optionsThatNoReaderCanHaveAreUsageErrors) {
    CARILLON_EXPECT_ERROR(DeviceReader(device(), {.blocks = 0}), UsageError,
                          "DeviceReader: 0 blocks");
    CARILLON_EXPECT_ERROR(DeviceReader(device(), {.lifetime = -1ns}), UsageError,
                          "DeviceReader: a lifetime of -1 ns");
    CARILLON_EXPECT_ERROR(DeviceWriter(device(), {.blocks = 0}), UsageError,
                          "DeviceWriter: 0 blocks");
}

CARILLON_ON_EVERY_DEVICE(ChoicesTest);

}  // namespace
}  // namespace carillon::test
