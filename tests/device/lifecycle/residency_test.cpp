// SPDX-License-Identifier: Apache-2.0
// Blocks that cannot all be resident would wait for ever for their turn.
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"

namespace carillon::test {

struct NextNumber {
    CARILLON_HD unsigned operator()(unsigned const& value) const { return value + 1; }
};

struct WaitBody {
    std::uint64_t const* gate;
    CARILLON_HD void operator()(unsigned /*block*/) const { wait_at(gate, 1); }
};

namespace {

constexpr unsigned too_many = 10'000;

class ResidencyTest : public KernelTest {
   protected:
    // How many blocks the device says that it can hold.
    [[nodiscard]] unsigned fit(unsigned asked) const {
        try {
            PersistentKernel<NextNumber> kernel(device(), {.blocks = asked, .capacity = 2});
        } catch (ResidencyError const& error) {
            EXPECT_EQ(error.asked(), asked);
            EXPECT_LT(error.fit(), asked);
            EXPECT_NE(std::string(error.what()).find(std::to_string(error.fit())),
                      std::string::npos);
            return error.fit();
        }
        ADD_FAILURE() << asked << " blocks were accepted";
        return 0;
    }
};
CARILLON_ON_EVERY_DEVICE(ResidencyTest);

TEST_P(ResidencyTest, tooManyBlocksAreRefusedWithTheNumberThatFits) {
    EXPECT_GT(fit(too_many), 0U);
    PersistentKernel<NextNumber> kernel(device());
    EXPECT_EQ(kernel.channel().call(1, patience), 2U);
}

TEST_P(ResidencyTest, theNumberThatFitsReallyFits) {
    unsigned const most = fit(too_many);
    PersistentKernel<NextNumber> kernel(device(),
                                        {.blocks = most, .capacity = 2, .start_timeout = patience});
    ASSERT_EQ(kernel.blocks(), most);
    for (unsigned block = 0; block < most; ++block) {
        ASSERT_EQ(kernel.channel(block).call(block, patience), block + 1);
    }
    kernel.stop(patience);
}

// Catches a count that forgets the kernels that are running, or that has ended ones in it.
TEST_P(ResidencyTest, blocksThatLiveAlreadyTakeTheirPlaces) {
    unsigned const empty = fit(too_many);
    Gate gate(device());
    auto const other = launch(device(), 3, WaitBody{gate.device_view()});
    EXPECT_EQ(fit(too_many), empty - 3);
    gate.open(1);
    ASSERT_TRUE(other.wait(patience));
    EXPECT_EQ(fit(too_many), empty);
}

TEST_P(ResidencyTest, launchRefusesToo) {
    Gate gate(device());
    EXPECT_THROW((void)launch(device(), 1U << 20, WaitBody{gate.device_view()}), ResidencyError);
    gate.open(1);
    EXPECT_TRUE(launch(device(), 1, WaitBody{gate.device_view()}).wait(patience));
}

}  // namespace
}  // namespace carillon::test
