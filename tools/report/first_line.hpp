// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <string>

namespace carillon::tool {

// Of a file of the system's; empty without it.
[[nodiscard]] inline std::string first_line_of_file(std::string const& path) {
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

}  // namespace carillon::tool
