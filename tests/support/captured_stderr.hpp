// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "carillon/detail/host/say_line.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

// The text on stderr since testing::internal::CaptureStderr(). The library's thread writes its
// lines, so this waits until they are written.
inline std::string captured_stderr() {
    EXPECT_TRUE(detail::lines_are_written(patience));
    return testing::internal::GetCapturedStderr();
}

}  // namespace carillon::test
