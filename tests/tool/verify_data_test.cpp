// SPDX-License-Identifier: Apache-2.0
// `carillon verify --data`: that it passes, and that it would notice.
#include <gtest/gtest.h>

#include <algorithm>

#include "carillon/error.hpp"
#include "support/expect_error.hpp"
#include "verify/mapping_data.hpp"

namespace carillon::tool {
namespace {

// The emulated device's copies, with one bit of the last byte wrong in one direction.
class WrongCopies final : public DriverCopies {
   public:
    explicit WrongCopies(bool to_host_too) : to_host_too_(to_host_too) {}

    void to_device(void* device_address, void const* from, std::size_t bytes) override {
        right_->to_device(device_address, from, bytes);
        if (!to_host_too_) static_cast<char*>(device_address)[bytes - 1] ^= 1;
    }
    void to_host(void* to, void const* device_address, std::size_t bytes) override {
        right_->to_host(to, device_address, bytes);
        if (to_host_too_) static_cast<char*>(to)[bytes - 1] ^= 1;
    }

   private:
    std::unique_ptr<DriverCopies> right_ = open_driver_copies(Device::open("emulated"));
    bool to_host_too_;
};

[[nodiscard]] std::vector<DataCheck> checks_with(DriverCopies& copies) {
    return check_mapping_data(Device::open("emulated"), copies, [](double) {});
}

[[nodiscard]] bool failed(DataCheck const& check) { return check.failed == check.copies; }

TEST(VerifyMappingDataTest, copiesOfTheEmulatedDeviceAreWhole) {
    double share = 0;
    auto const checks =
        check_mapping_data(Device::open("emulated"), [&](double done) { share = done; });
    EXPECT_DOUBLE_EQ(share, 1);
    EXPECT_GE(checks.size(), 4U * 3U) << "two kinds of stores, and loads, at least";
    for (DataCheck const& each : checks) {
        EXPECT_EQ(each.failed, 0U) << each.direction << each.by << each.shape;
        EXPECT_GT(each.copies, 0U);
    }
    require_no_failure(checks);
    EXPECT_NE(data_table(checks).find("Failed: 0"), std::string::npos);
}

TEST(VerifyMappingDataTest, copiesOfCuda0AreWhole) {
    try {
        Device const device = Device::open("cuda:0");
        require_no_failure(check_mapping_data(device, [](double) {}));
    } catch (DeviceNotFoundError const& error) {
        GTEST_SKIP() << error.what();
    } catch (UnsupportedError const& error) {
        GTEST_SKIP() << error.what();
    }
}

TEST(VerifyMappingDataTest, byteThatTheCpuWroteAndTheDeviceHasNotIsReported) {
    WrongCopies copies(true);
    auto const checks = checks_with(copies);
    for (DataCheck const& each : checks) {
        EXPECT_EQ(failed(each), each.direction == "cpu-to-device") << each.by << each.shape;
    }
    ASSERT_TRUE(checks.front().first);
    WrongByte const& wrong = *checks.front().first;
    EXPECT_EQ(wrong.at, wrong.offset + wrong.bytes + 63) << "beside the copy";
    EXPECT_EQ(wrong.expected ^ wrong.seen, 1U);
    EXPECT_EQ(to_json(checks.front())["first"]["at"], wrong.at);
    CARILLON_EXPECT_ERROR(require_no_failure(checks), Error, "checks failed");
    EXPECT_NE(data_table(checks).find("FAILED cpu-to-device"), std::string::npos);
}

TEST(VerifyMappingDataTest, byteThatTheDeviceWroteAndTheCpuDoesNotReadIsReported) {
    WrongCopies copies(false);
    auto const checks = checks_with(copies);
    auto const loads = std::ranges::find(checks, "loads", &DataCheck::by);
    ASSERT_NE(loads, checks.end());
    EXPECT_TRUE(failed(*loads));
    EXPECT_EQ(loads->first->at, loads->first->offset + loads->first->bytes - 1);
}

}  // namespace
}  // namespace carillon::tool
