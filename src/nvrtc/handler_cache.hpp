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
    // `folder` has the files; empty: there are none. It is made when a file is written.
    explicit HandlerCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
    // carillon/ in the user's cache folder; empty if none is known.
    [[nodiscard]] static std::filesystem::path own_folder();

    // The code that was kept for `key`, which names everything that determines the code. A file
    // that is not whole, or another key's, counts as none.
    [[nodiscard]] std::optional<Nvrtc::Compiled> find(std::string const& key) const;
    // Looks only in the files.
    [[nodiscard]] std::optional<Nvrtc::Compiled> find_file(std::string const& key) const;
    // Keeps it for this process and, if possible, in a file, which is there whole or not at all.
    void keep(std::string const& key, Nvrtc::Compiled const& compiled) const noexcept;

    [[nodiscard]] std::filesystem::path file_of(std::string_view key) const;

   private:
    std::filesystem::path folder_;
};

}  // namespace carillon::detail
