// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

namespace carillon::tool {

// The first line of a system file; empty if there is no file.
[[nodiscard]] inline std::string first_line_of_file(std::string const& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace carillon::tool
