// SPDX-License-Identifier: Apache-2.0
// Every argument at its limits: the right behaviour or a typed error that names the call.
#include <limits>

#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

struct Twice {
    CARILLON_HD int operator()(int const& value) const { return 2 * value; }
};

class LimitsTest : public KernelTest {};

TEST_P(LimitsTest, blockThatIsNotThereIsAUsageError) {
    PersistentKernel<Twice> const kernel(device(), {.blocks = 2});
    PersistentKernel<Twice, Pool> const pooled(device(), {.blocks = 2});
    for (unsigned const block : {2U, 3U, std::numeric_limits<unsigned>::max()}) {
        SCOPED_TRACE(block);
        CARILLON_EXPECT_ERROR(kernel.activity(block), UsageError, "PersistentKernel::activity");
        CARILLON_EXPECT_ERROR(kernel.sm(block), UsageError,
                              "PersistentKernel::sm: there is no block");
        CARILLON_EXPECT_ERROR(pooled.activity(block), UsageError, "PersistentKernel::activity");
        CARILLON_EXPECT_ERROR(pooled.sm(block), UsageError, "PersistentKernel::sm");
    }
    EXPECT_EQ(kernel.activity(1), BlockActivity::idle);
}

CARILLON_ON_EVERY_DEVICE(LimitsTest);

}  // namespace
}  // namespace carillon::test
