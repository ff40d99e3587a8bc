// SPDX-License-Identifier: Apache-2.0
// Writes a file that readers see whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace carillon::detail {

// Puts a file with this text in place of what has the name `path`, its permissions as the umask
// says. Whoever reads meanwhile, or after a crash, finds the old file or the new one, whole; a
// symbolic link is replaced and not followed. Throws SystemError, and leaves nothing else behind
// then.
void replace_file(std::filesystem::path const& path, std::string_view text);

}  // namespace carillon::detail
