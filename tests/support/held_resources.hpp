// SPDX-License-Identifier: Apache-2.0
// The resources that this process holds, to show that nothing was left behind.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace carillon::test {

struct Held {
    long descriptors = 0;
    long mappings = 0;  // of shared memory

    static Held now() {
        Held held;
        // The folder itself is open while it is read: one more, each time.
        held.descriptors = std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            if (line.find("memfd:") != std::string::npos) ++held.mappings;
        }
        return held;
    }

    [[nodiscard]] bool operator==(Held const&) const = default;
};

inline void PrintTo(Held const& held, std::ostream* to) {
    *to << held.descriptors << " descriptors, " << held.mappings << " mappings";
}

}  // namespace carillon::test
