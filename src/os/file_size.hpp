// SPDX-License-Identifier: Apache-2.0
// The limit of a file's size, which memory files have too.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace carillon::detail {

// RLIMIT_FSIZE, which also holds for shared memory; nothing if there is no limit.
[[nodiscard]] std::optional<std::size_t> limit_of_file_size() noexcept;

// Throws SystemError, in the name of `call`, if this process may not have a file of `size` bytes:
// the system would end the process (SIGXFSZ).
void require_file_size(std::string_view call, std::size_t size);

}  // namespace carillon::detail
