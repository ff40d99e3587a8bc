// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "carillon/error.hpp"

namespace carillon::test {

// Exists as long as the object.
class TemporaryDirectory {
   public:
    TemporaryDirectory() {
        std::string name = (std::filesystem::temp_directory_path() / "carillon-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw SystemError("mkdtemp", errno);
        path_ = name;
    }
    TemporaryDirectory(TemporaryDirectory const&) = delete;
    TemporaryDirectory& operator=(TemporaryDirectory const&) = delete;
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::filesystem::path const& path() const { return path_; }

   private:
    std::filesystem::path path_;
};

}  // namespace carillon::test
