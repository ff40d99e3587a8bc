// SPDX-License-Identifier: Apache-2.0
// Libraries of the CUDA toolkit, opened at run time.
#pragma once

#include <filesystem>
#include <string_view>

namespace carillon::detail {

// A library of the CUDA toolkit, found at run time.
struct ToolkitLibrary {
    std::string_view name;        // "libnvrtc.so"
    char const* variable;         // the environment variable that may have its path
    std::string_view how_to_get;  // advice for a machine without it
};

// Opens `chosen`, the file that the variable names, or the one that the loader, a toolkit of
// CUDA_HOME or CUDA_PATH, or /usr/local/cuda has. It stays open. Throws UnsupportedError.
[[nodiscard]] void* open_library(ToolkitLibrary const& library,
                                 std::filesystem::path const& chosen);

// A function of such a library. Throws UnsupportedError.
[[nodiscard]] void* address_in(ToolkitLibrary const& library, void* handle, char const* name);

template <class Function>
void look_up(ToolkitLibrary const& library, void* handle, char const* name, Function*& function) {
    function = reinterpret_cast<Function*>(address_in(library, handle, name));
}

}  // namespace carillon::detail
