// SPDX-License-Identifier: Apache-2.0
#include "nvrtc/toolkit_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// The possible paths, the loader's folders first. Names in a toolkit of wheels have versions.
std::vector<std::string> paths_of(std::string_view name) {
    std::vector<std::string> found;
    auto const add_in = [&](std::string const& folder) {
        for (char const* version : {".13", ".12", ""}) {
            found.push_back(fmt::format("{}{}{}", folder, name, version));
        }
    };
    add_in("");
    auto const add = [&](std::string_view toolkit) {
        for (char const* folder : {"lib64", "lib"}) {
            add_in(fmt::format("{}/{}/", toolkit, folder));
        }
    };
    for (char const* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (char const* const toolkit = std::getenv(variable); toolkit != nullptr) add(toolkit);
    }
    add("/usr/local/cuda");
    return found;
}

}  // namespace

void* open_library(ToolkitLibrary const& library, std::filesystem::path const& chosen) {
    std::string one = chosen.string();
    char const* const variable = std::getenv(library.variable);
    if (one.empty() && variable != nullptr) one = variable;
    std::string why;
    for (std::string const& path : one.empty() ? paths_of(library.name) : std::vector{one}) {
        void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (opened != nullptr) return opened;
        if (why.empty()) why = ::dlerror();
    }
    throw UnsupportedError(fmt::format("dlopen({})", library.name),
                           fmt::format("{} ({})", library.how_to_get, why));
}

void* address_in(ToolkitLibrary const& library, void* handle, char const* name) {
    void* const address = ::dlsym(handle, name);
    if (address != nullptr) return address;
    throw UnsupportedError(fmt::format("dlsym({})", name),
                           fmt::format("{} lacks it; {}", library.name, library.how_to_get));
}

}  // namespace carillon::detail
