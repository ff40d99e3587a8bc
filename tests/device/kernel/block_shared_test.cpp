// SPDX-License-Identifier: Apache-2.0
// The objects that the threads of a block share: they are the same on every device.
#include "carillon/block.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {

struct TwoNumbers {
    std::uint32_t first, second;
};
struct SharedNumber {
    std::uint32_t value;
};

template <std::uint32_t which>
struct Named {
    CARILLON_HD static SharedNumber& number() { return block::shared<SharedNumber, struct Own>(); }
};

// Each object is written before any is read.
struct TwoObjects {
    static constexpr unsigned threads = 64;
    CARILLON_HD TwoNumbers operator()(TwoNumbers const& request) const {
        auto& first = block::shared<SharedNumber, struct First>();
        auto& second = block::shared<SharedNumber, struct Second>();
        if (block::thread_rank() == 0) {
            first.value = request.first;
            second.value = request.second;
        }
        block::sync();
        return {first.value, second.value};
    }
};

struct TwoInstantiations {
    static constexpr unsigned threads = 64;
    CARILLON_HD TwoNumbers operator()(TwoNumbers const& request) const {
        SharedNumber& first = Named<0>::number();
        SharedNumber& second = Named<1>::number();
        if (block::thread_rank() == 0) {
            first.value = request.first;
            second.value = request.second;
        }
        block::sync();
        return {first.value, second.value};
    }
};

struct OneObjectTwice {
    static constexpr unsigned threads = 64;
    CARILLON_HD TwoNumbers operator()(TwoNumbers const& request) const {
        SharedNumber& one = Named<0>::number();
        SharedNumber& other = Named<0>::number();
        if (block::thread_rank() == 0) {
            one.value = request.first;
            other.value = request.second;
        }
        block::sync();
        return {one.value, other.value};
    }
};

// Returns the number that the request before has left, and leaves its own.
struct KeptObject {
    static constexpr unsigned threads = 64;
    CARILLON_HD TwoNumbers operator()(TwoNumbers const& request) const {
        auto& kept = block::shared<SharedNumber, KeptObject>();
        std::uint32_t const before = kept.value;
        block::sync();
        if (block::thread_rank() == 0) kept.value = request.first;
        block::sync();
        return {before, kept.value};
    }
};

namespace {

class BlockSharedTest : public KernelTest {
   protected:
    template <class Handler>
    TwoNumbers answer(TwoNumbers const& request) {
        PersistentKernel<Handler> kernel(device());
        return kernel.channel().call(request, 2s);
    }
};
CARILLON_ON_EVERY_DEVICE(BlockSharedTest);

// Catches one object for each type.
TEST_P(BlockSharedTest, twoNamesOfOneTypeAreTwoObjects) {
    TwoNumbers const reply = answer<TwoObjects>({1, 2});
    EXPECT_EQ(reply.first, 1U);
    EXPECT_EQ(reply.second, 2U);
}

TEST_P(BlockSharedTest, twoInstantiationsOfATemplateHaveAnObjectEach) {
    TwoNumbers const reply = answer<TwoInstantiations>({1, 2});
    EXPECT_EQ(reply.first, 1U);
    EXPECT_EQ(reply.second, 2U);
}

// Catches an emulated device that has an object for each call.
TEST_P(BlockSharedTest, oneNameIsOneObject) {
    TwoNumbers const reply = answer<OneObjectTwice>({1, 2});
    EXPECT_EQ(reply.first, 2U);
    EXPECT_EQ(reply.second, 2U);
}

TEST_P(BlockSharedTest, anObjectKeepsItsValueFromOneRequestToTheNext) {
    PersistentKernel<KeptObject> kernel(device());
    (void)kernel.channel().call({7, 0}, 2s);
    TwoNumbers const reply = kernel.channel().call({8, 0}, 2s);
    EXPECT_EQ(reply.first, 7U);
    EXPECT_EQ(reply.second, 8U);
}

TEST_P(BlockSharedTest, blocksHaveObjectsOfTheirOwn) {
    PersistentKernel<KeptObject> kernel(device(), {.blocks = 2});
    (void)kernel.channel(0).call({7, 0}, 2s);
    (void)kernel.channel(1).call({8, 0}, 2s);
    EXPECT_EQ(kernel.channel(0).call({9, 0}, 2s).first, 7U);
    EXPECT_EQ(kernel.channel(1).call({9, 0}, 2s).first, 8U);
}

}  // namespace
}  // namespace carillon::test
