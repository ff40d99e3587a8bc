// SPDX-License-Identifier: Apache-2.0
// Types for names and paths that a program gives. The standard library's types read from a null
// pointer, such as std::getenv returns for an unset variable, which would end the program.
#pragma once

#include <concepts>
#include <filesystem>
#include <string_view>
#include <type_traits>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// A name: anything convertible to std::string_view. No object has the name that a null pointer
// gives, so the call throws UsageError. A literal 0 or nullptr does not compile.
class NameArgument : public std::string_view {
   public:
    NameArgument() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): implicit like std::string_view's
    NameArgument(std::same_as<char> auto const* name)
        : std::string_view(name == nullptr ? null_pointer : std::string_view(name)) {}
    template <std::convertible_to<std::string_view> Name>
    requires(!std::is_pointer_v<std::decay_t<Name>> && !std::is_null_pointer_v<Name>)
        // NOLINTNEXTLINE(google-explicit-constructor): implicit, see above
        NameArgument(Name const& name)
        : std::string_view(name) {}

    static constexpr std::string_view null_pointer{"\0null pointer", 13};
};

// A path: anything convertible to std::filesystem::path. A null pointer gives the empty path.
class PathArgument : public std::filesystem::path {
   public:
    PathArgument() = default;
    template <class Char>
    requires std::convertible_to<Char const*, std::filesystem::path>
    // NOLINTNEXTLINE(google-explicit-constructor): implicit like the path's
    PathArgument(Char const* text)
        : std::filesystem::path(text == nullptr ? std::filesystem::path()
                                                : std::filesystem::path(text)) {}
    template <std::convertible_to<std::filesystem::path> Path>
    requires(!std::is_pointer_v<std::decay_t<Path>> && !std::is_null_pointer_v<Path>)
        // NOLINTNEXTLINE(google-explicit-constructor): implicit, see above
        PathArgument(Path const& other)
        : std::filesystem::path(other) {}
};

}  // namespace carillon
