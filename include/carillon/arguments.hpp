// SPDX-License-Identifier: Apache-2.0
// How a program gives names and paths. The standard library's own types read at a null pointer:
// what std::getenv has not found would end the program.
#pragma once

#include <concepts>
#include <filesystem>
#include <string_view>
#include <type_traits>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// A name: whatever is a std::string_view. One that is a null pointer no object has: the call throws
// UsageError. A 0 or nullptr in the place of a name does not compile.
class NameArgument : public std::string_view {
   public:
    NameArgument() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): as std::string_view's
    NameArgument(std::same_as<char> auto const* name)
        : std::string_view(name == nullptr ? null_pointer : std::string_view(name)) {}
    template <std::convertible_to<std::string_view> Name>
    requires(!std::is_pointer_v<std::decay_t<Name>> && !std::is_null_pointer_v<Name>)
        // NOLINTNEXTLINE(google-explicit-constructor): the same
        NameArgument(Name const& name)
        : std::string_view(name) {}

    static constexpr std::string_view null_pointer{"\0null pointer", 13};
};

// A path: whatever is a std::filesystem::path. One that is a null pointer is empty.
class PathArgument : public std::filesystem::path {
   public:
    PathArgument() = default;
    template <class Char>
    requires std::convertible_to<Char const*, std::filesystem::path>
    // NOLINTNEXTLINE(google-explicit-constructor): as the path's
    PathArgument(Char const* text)
        : std::filesystem::path(text == nullptr ? std::filesystem::path()
                                                : std::filesystem::path(text)) {}
    template <std::convertible_to<std::filesystem::path> Path>
    requires(!std::is_pointer_v<std::decay_t<Path>> && !std::is_null_pointer_v<Path>)
        // NOLINTNEXTLINE(google-explicit-constructor): the same
        PathArgument(Path const& other)
        : std::filesystem::path(other) {}
};

}  // namespace carillon
