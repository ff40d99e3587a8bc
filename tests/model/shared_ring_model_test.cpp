// SPDX-License-Identifier: Apache-2.0
// The ring that many share, with a producer that may die.
#include <gtest/gtest.h>

#include "model/shared_ring_model.hpp"

namespace carillon::test {
namespace {

template <SharedShape shape>
void expect_shared_success(Search const& search) {
    using Model = SharedRingModel<shape>;
    Model::deaths = 0;
    Model::skips = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_GT(Model::deaths, 0U);  // or nothing was checked
    EXPECT_GT(Model::skips, 0U);
}

TEST(SharedRingModelTest, randomExecutions) {
    expect_shared_success<stripes_of_one>(random_executions(200'000));
    expect_shared_success<stripes_of_two>(random_executions(100'000));
}

}  // namespace
}  // namespace carillon::test
