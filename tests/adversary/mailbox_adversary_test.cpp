// SPDX-License-Identifier: Apache-2.0
// Mailboxes on the adversary's machine.
#include "adversary/scenarios/count_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// Every bus and every way to store, those too that are not sound for a ring: no quad has to stay
// whole.
std::vector<Configuration> mailbox_configurations() {
    using enum StoreKind;
    std::vector<Configuration> all = all_configurations();
    for (StoreKind const kind : {sse2, avx2, avx512}) {
        all.push_back({{.pieces = Pieces::words}, {kind, PublishMode::one_step}});
    }
    for (std::uint32_t const atom : {64U, 256U}) {
        Bus const bus{.pieces = Pieces::words, .write_combining = false, .atom = atom};
        all.push_back({bus, {cached, PublishMode::one_step}});
    }
    return all;
}

class AdversaryMailboxTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryMailboxTest, testing::ValuesIn(mailbox_configurations()),
                         configuration_name);

TEST_P(AdversaryMailboxTest, toTheDeviceIsWholeNeverGoesBackAndArrives) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mailbox<1>(policies, Side::host, policies.host_far(), policies.device_near(),
                          OutOfLine::none);
    }));
}

TEST_P(AdversaryMailboxTest, ofSeveralLinesToTheDeviceIsWholeNeverGoesBackAndArrives) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mailbox<3>(policies, Side::host, policies.host_far(), policies.device_near(),
                          OutOfLine::none);
    }));
}

TEST_P(AdversaryMailboxTest, toTheDeviceBringsItsData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mailbox<2>(policies, Side::host, policies.host_far(), policies.device_near(),
                          OutOfLine::written);
    }));
}

class AdversaryMailboxToHostTest : public testing::TestWithParam<Configuration> {};
INSTANTIATE_TEST_SUITE_P(With, AdversaryMailboxToHostTest,
                         testing::ValuesIn(one_configuration_for_each_bus()), configuration_name);

TEST_P(AdversaryMailboxToHostTest, isWholeNeverGoesBackAndArrives) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mailbox<3>(policies, Side::device, policies.device_far(), policies.host_near(),
                          OutOfLine::none);
    }));
}

TEST_P(AdversaryMailboxToHostTest, bringsItsData) {
    EXPECT_TRUE(holds_for_all_seeds(GetParam(), [](Policies const& policies) {
        return mailbox<2>(policies, Side::device, policies.device_far(), policies.host_near(),
                          OutOfLine::written);
    }));
}

// On this device even a store fence does not keep the CPU's writes in order.
TEST(AdversaryReadBackMailboxTest, toTheDeviceBringsItsData) {
    Configuration const configuration{
        {.fences_order = false}, {StoreKind::avx2, PublishMode::one_step}, true};
    EXPECT_TRUE(holds_for_all_seeds(configuration, [](Policies const& policies) {
        return mailbox<2>(policies, Side::host, policies.host_far(), policies.device_near(),
                          OutOfLine::written);
    }));
}

}  // namespace
}  // namespace carillon::test
