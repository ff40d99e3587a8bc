// SPDX-License-Identifier: Apache-2.0
// Three requests through two slots to two blocks: each is served once, and its reply is there
// before the slot is used again.
#include "model/models/shared_pool_model.hpp"

#include <gtest/gtest.h>

#include "model/machine/search.hpp"

namespace carillon::test {
namespace {

using OnHardware = SharedPoolModel<Hardware<all_quads>, ClaimingGpu>;
using OnFewQuads = SharedPoolModel<Hardware<first_and_last_quad>, ClaimingGpu>;
using OnThreads = SharedPoolModel<Emulated<all_quads>, ClaimingGpuOn<QuadsOfWords>>;

template <class Model>
void expect_success(Search const& search) {
    Model::served_by_second = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_GT(Model::served_by_second, 0U);  // or nothing was checked
}

TEST(SharedPoolModelTest, everyExecutionWithOneSwitch) {
    expect_success<OnFewQuads>(switching_at_most(1));
}
TEST(SharedPoolModelTest, randomExecutionsOnHardware) {
    expect_success<OnHardware>(random_executions(30'000));
}
TEST(SharedPoolModelTest, randomExecutionsOnTheEmulatedDevice) {
    expect_success<OnThreads>(random_executions(15'000));
}

// A block that makes no claims needs no other order.
TEST(SharedPoolModelTest, randomExecutionsOfABlockThatIsAlone) {
    using Alone = SharedPoolModel<Hardware<all_quads>, ClaimingGpu, 1>;
    EXPECT_EQ(outcome<Alone>(random_executions(15'000)), "SUCCESS");
}

}  // namespace
}  // namespace carillon::test
