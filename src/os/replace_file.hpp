// SPDX-License-Identifier: Apache-2.0
// Writes a file that readers see whole or not at all.
#pragma once

#include <filesystem>
#include <string_view>

namespace carillon::detail {

// Replaces the file `path` by one with this text, with the umask's permissions. A reader meanwhile,
// or after a crash, finds the old or the new file, whole; a symbolic link is replaced and not
// followed. Throws SystemError, and then leaves nothing else behind.
void replace_file(std::filesystem::path const& path, std::string_view text);

}  // namespace carillon::detail
