// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>

#include "carillon/kernel.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

struct Triple {
    CARILLON_HD long operator()(long const& value) const { return 3 * value; }
};

// After an error the device works as before: memory, a kernel, a call, a stop.
inline void expect_usable(Device const& device) {
    PersistentKernel<Triple> kernel(device);
    EXPECT_EQ(kernel.channel().call(14, patience), 42);
    kernel.stop(patience);
    EXPECT_FALSE(kernel.running());
}

}  // namespace carillon::test
