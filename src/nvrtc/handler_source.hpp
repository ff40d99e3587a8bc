// SPDX-License-Identifier: Apache-2.0
// The input of NVRTC for a handler: its text, and the library's headers around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nvrtc/nvrtc.hpp"

namespace carillon::detail {

// The folder with the library's headers: `chosen`, $CARILLON_HEADERS, or a folder near the library
// or the program. Throws UnsupportedError if it has none.
[[nodiscard]] std::filesystem::path find_headers(std::filesystem::path const& chosen);

// A hash of their content. Throws SystemError.
[[nodiscard]] std::uint64_t hash_of_headers(std::filesystem::path const& folder);

// `before` goes before the text, whose lines are counted from 1 as those of "handler".
[[nodiscard]] NvrtcProgram handler_source(std::string_view before, std::string_view text,
                                          std::uint32_t request_bytes, std::uint32_t reply_bytes);

// Whether a text that is compiled with these options may include files other than the library's and
// its replacements of standard headers: their content is then unknown here. May be true for a text
// that does not.
[[nodiscard]] bool may_include_others(std::string_view text,
                                      std::vector<std::string> const& options);

// Facts that the kernels of a handler contain.
struct TextKernelFacts {
    unsigned threads = 1;  // of a block
    bool bounded = false;  // which of the two forms of a kernel is not empty
};
// Throws FormatError if it is no such machine code.
[[nodiscard]] TextKernelFacts facts_of(std::string_view cubin);

}  // namespace carillon::detail
