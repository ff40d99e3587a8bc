// SPDX-License-Identifier: Apache-2.0
// A handler that throws: possible on the emulated device only.
#include <stdexcept>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/refuses_seven.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

struct ThrowingBody {
    CARILLON_HD void operator()(unsigned block) const {
#if !defined(__CUDA_ARCH__)
        if (block == 1) throw std::domain_error("block 1");
#else
        (void)block;
#endif
    }
};

struct ThrowsANumber {
    CARILLON_HD int operator()(int const& value) const {
#if !defined(__CUDA_ARCH__)
        if (value == 7) throw 7;
#endif
        return value;
    }
};

namespace {

class FailingHandlerTest : public KernelTest {
   protected:
    void SetUp() override {
        if (on_gpu()) GTEST_SKIP() << "device code cannot throw";
        KernelTest::SetUp();
    }
};
CARILLON_ON_EVERY_DEVICE(FailingHandlerTest);

// Catches an exception that ends the process, or that a caller sees as a deadline only.
TEST_P(FailingHandlerTest, exceptionReachesTheCallerAndTheDeviceGoesOn) {
    {
        PersistentKernel<RefusesSeven> kernel(device());
        EXPECT_EQ(kernel.channel().call(6, patience), 6);
        CARILLON_EXPECT_ERROR(kernel.channel().call(7, patience), std::domain_error, "seven");
        EXPECT_THROW((void)kernel.running(), std::domain_error);
        EXPECT_THROW(kernel.stop(patience), std::domain_error);
    }  // the destructor does not throw
    PersistentKernel<RefusesSeven> next(device());
    EXPECT_EQ(next.channel().call(9, patience), 9);
}

// A fault of one block ends the whole kernel, as it does on a GPU.
TEST_P(FailingHandlerTest, exceptionOfOneBlockFailsTheWholeKernel) {
    PersistentKernel<RefusesSeven> kernel(device(), {.blocks = 2});
    EXPECT_EQ(kernel.channel(1).call(1, patience), 1);
    CARILLON_EXPECT_ERROR(kernel.channel(0).call(7, patience), std::domain_error, "seven");
    CARILLON_EXPECT_ERROR(kernel.channel(1).call(1, patience), std::domain_error, "seven");
    EXPECT_THROW(kernel.stop(patience), std::domain_error);
    EXPECT_EQ(kernel.state(), KernelState::failed);
}

// Catches a destructor that leaves a block behind, in memory that goes.
TEST_P(FailingHandlerTest, destructorWaitsForTheOtherBlocksOfAKernelThatFailed) {
    auto const& begun = RefusesSeven::long_requests_begun;
    int const before = begun;
    {
        PersistentKernel<RefusesSeven> kernel(device(), {.blocks = 2});
        (void)kernel.channel(1).submit(8, patience);
        EXPECT_TRUE(eventually([&] { return begun > before; }));
        CARILLON_EXPECT_ERROR(kernel.channel(0).call(7, patience), std::domain_error, "seven");
    }
    EXPECT_EQ(RefusesSeven::long_requests_done, begun);
}

// Catches a destructor or a state() that expects exceptions only: it ends the process.
template <class Kernel, class Call>
void expect_a_number(Kernel kernel, Call const& call) {
    EXPECT_THROW((void)call(kernel), int);
    EXPECT_THROW((void)kernel.running(), int);
    EXPECT_THROW(kernel.stop(patience), int);
    EXPECT_THROW(kernel.drain(patience), int);
    EXPECT_EQ(kernel.state(), KernelState::failed);
}

TEST_P(FailingHandlerTest, whatIsThrownNeedNotBeAnException) {
    using Kernel = PersistentKernel<ThrowsANumber>;
    using Watching = PersistentKernel<ThrowsANumber, WatchedChannels>;
    using Pooled = PersistentKernel<ThrowsANumber, Pool>;
    expect_a_number(Kernel(device()),
                    [](Kernel& kernel) { return kernel.channel().call(7, patience); });
    expect_a_number(Watching(device(), {.watched = {.per_block = 2}}),
                    [](Watching& kernel) { return kernel.channel(1).call(7, patience); });
    expect_a_number(Pooled(device()),
                    [](Pooled& kernel) { return kernel.client().call(7, patience); });
    PersistentKernel<ThrowsANumber> next(device());
    EXPECT_EQ(next.channel().call(9, patience), 9);
}

TEST_P(FailingHandlerTest, exceptionOfAnOwnBodyReachesWhoeverWaits) {
    auto const kernel = launch(device(), 3, ThrowingBody{});
    CARILLON_EXPECT_ERROR(kernel.wait(patience), std::domain_error, "block 1");
    EXPECT_THROW((void)kernel.finished(), std::domain_error);
}

}  // namespace
}  // namespace carillon::test
