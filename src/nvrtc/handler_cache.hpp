// SPDX-License-Identifier: Apache-2.0
// Machine code that was compiled before, in this process and in files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "nvrtc/nvrtc.hpp"

namespace carillon::detail {

class HandlerCache {
   public:
    // `folder`: of the files; empty: there are none. It is made when something is kept.
    explicit HandlerCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
    // carillon/ in the user's folder for caches; empty if none is known.
    [[nodiscard]] static std::filesystem::path own_folder();

    // What was kept for `key`, which says all that the machine code is made of. A file that is not
    // whole, or another key's, is as none.
    [[nodiscard]] std::optional<Nvrtc::Compiled> find(std::string const& key) const;
    // The same of the files alone.
    [[nodiscard]] std::optional<Nvrtc::Compiled> find_file(std::string const& key) const;
    // For this process and, if that can be, in a file, which is there whole or not at all.
    void keep(std::string const& key, Nvrtc::Compiled const& compiled) const noexcept;

    [[nodiscard]] std::filesystem::path file_of(std::string_view key) const;

   private:
    std::filesystem::path folder_;
};

}  // namespace carillon::detail
