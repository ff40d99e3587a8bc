// SPDX-License-Identifier: Apache-2.0
// Every way of storing towards a device's memory, end to end.
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/ring_memory.hpp"
#include "support/store_kinds.hpp"

namespace carillon::test {
using namespace detail;

struct Damage {
    // 1 for a message that came whole.
    CARILLON_HD int operator()(Message const& message) const { return message.whole() ? 1 : 0; }
};

namespace {

struct StoresOn {
    char const* selector;
    HostStores stores;
};

void PrintTo(StoresOn const& param, std::ostream* out) {
    *out << param.selector << " " << name_of(param.stores);
}

std::vector<StoresOn> all_stores_on_every_device() {
    std::vector<StoresOn> all;
    for (char const* selector : tested_devices) {
        for (HostStores stores : all_stores()) all.push_back({selector, stores});
    }
    return all;
}

std::string stores_on_name(testing::TestParamInfo<StoresOn> const& info) {
    return in_test_name(info.param.selector) + "_" + name_of(info.param.stores);
}

class StoresTest : public testing::TestWithParam<StoresOn> {
   protected:
    void SetUp() override {
        std::string const reason = why_not_on_device();
        if (!reason.empty()) GTEST_SKIP() << reason;
        try {
            device_ = Device::open(GetParam().selector);
        } catch (DeviceNotFoundError const& error) {
            GTEST_SKIP() << error.what();
        } catch (UnsupportedError const& error) {
            if (on_gpu()) throw;
            GTEST_SKIP() << error.what();
        }
        device_->set_stores(GetParam().stores);
    }

    [[nodiscard]] static bool on_gpu() { return GetParam().selector == std::string("cuda:0"); }
    [[nodiscard]] static std::string why_not_on_device() {
        if (on_gpu() && GetParam().stores.kind == StoreKind::cached) {
            return "cached stores are for cached memory, a GPU's is write-combining";
        }
        if (on_gpu() && CARILLON_DEVICE_CODE == 0) {
            return "these tests were compiled without nvcc";
        }
        return why_not(GetParam().stores);
    }
    [[nodiscard]] Device const& device() const { return *device_; }

   private:
    std::optional<Device> device_;
};
INSTANTIATE_TEST_SUITE_P(On, StoresTest, testing::ValuesIn(all_stores_on_every_device()),
                         stores_on_name);

TEST_P(StoresTest, messagesArriveWhole) {
    PersistentKernel<Damage> kernel(device(), {.capacity = 4});
    for (std::uint64_t i = 0; i < 2000; ++i) {
        ASSERT_EQ(kernel.channel().call(Message::make(i), patience), 1) << i;
    }
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
}

TEST_P(StoresTest, messagesArriveWholeThroughTheWrapOfTheTags) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 1, 2, just_below_the_tags_wrap);
    PersistentKernel<Damage> kernel(device(), {.memory = memory});
    for (std::uint64_t i = 0; i < 20; ++i) {
        ASSERT_EQ(kernel.channel().call(Message::make(i), patience), 1) << i;
    }
}

}  // namespace
}  // namespace carillon::test
