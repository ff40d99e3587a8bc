// SPDX-License-Identifier: Apache-2.0
// The examples of docs/guide/testing.md.
#include <gtest/gtest.h>
#include <carillon/carillon.hpp>
#include <carillon/testing.hpp>

struct Prices {
    float of[64];
};

// The greatest of 64 prices, by 64 threads.
struct Greatest {
    static constexpr unsigned threads = 64;

    CARILLON_HD float operator()(Prices const& prices) const {
        namespace block = carillon::block;
        auto& greatest = block::shared<Prices, struct Table>();
        unsigned const rank = block::thread_rank();
        greatest.of[rank] = prices.of[rank];
        block::sync();
        for (unsigned half = 32; half != 0; half /= 2) {
            float const other = rank < half ? greatest.of[rank + half] : 0;
            if (rank < half && greatest.of[rank] < other) greatest.of[rank] = other;
            block::sync();
        }
        return greatest.of[0];
    }
};

TEST(GreatestTest, isFound) {
    Prices prices{};
    for (int i = 0; i != 64; ++i) prices.of[i] = static_cast<float>(i * 37 % 64);
    EXPECT_EQ(carillon::testing::run_block(Greatest{}, prices), 63);
}
