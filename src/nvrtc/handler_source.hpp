// SPDX-License-Identifier: Apache-2.0
// What NVRTC is given of a handler: its text, and the library's headers around it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "nvrtc/nvrtc.hpp"

namespace carillon::detail {

// The folder with the library's headers: `chosen`, $CARILLON_HEADERS, or where they are as seen
// from the library or the program. Throws UnsupportedError if it has none.
[[nodiscard]] std::filesystem::path find_headers(std::filesystem::path const& chosen);

// What is in them, as a number. Throws SystemError.
[[nodiscard]] std::uint64_t hash_of_headers(std::filesystem::path const& folder);

// `before` goes before the text, whose lines are counted from 1 as those of "handler".
[[nodiscard]] NvrtcProgram handler_source(std::string_view before, std::string_view text,
                                          std::uint32_t request_bytes, std::uint32_t reply_bytes);

// Whether a text that is compiled with these options may include files beside the library's own and
// those that stand for standard headers: then what is in them is not known here. It may say so of
// one that does not.
[[nodiscard]] bool may_include_others(std::string_view text,
                                      std::vector<std::string> const& options);

// What the kernels of a handler say of themselves.
struct TextKernelFacts {
    unsigned threads = 1;  // of a block
    bool bounded = false;  // which of the two forms of a kernel is not empty
};
// Throws FormatError for what is no such machine code.
[[nodiscard]] TextKernelFacts facts_of(std::string_view cubin);

}  // namespace carillon::detail
