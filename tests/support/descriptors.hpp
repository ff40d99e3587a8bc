// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <iterator>

namespace carillon::test {

// How many descriptors this process has open.
inline std::size_t open_descriptors() {
    using Entries = std::filesystem::directory_iterator;
    auto const all = std::distance(Entries("/proc/self/fd"), Entries());
    return static_cast<std::size_t>(all) - 1;  // that of the search
}

}  // namespace carillon::test
