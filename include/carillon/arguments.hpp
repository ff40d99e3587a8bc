// SPDX-License-Identifier: Apache-2.0
// Arguments of many public calls: names, paths, and options for tests. The standard library's
// strings crash on a null pointer, such as std::getenv returns for an unset variable; these do not.
#pragma once

#include <concepts>
#include <string>
#include <string_view>
#include <type_traits>

#include "carillon/detail/wire/line.hpp"

namespace carillon {

using detail::Sequence;

// A name: anything convertible to std::string_view. A null pointer becomes a name that no object
// has, so the call throws UsageError. A literal 0 or nullptr does not compile.
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

// A path: a std::filesystem::path, or anything convertible to std::string_view. A null pointer
// gives the empty path.
class PathArgument : public std::string {
   public:
    PathArgument() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): implicit like the path's
    PathArgument(std::same_as<char> auto const* text)
        : std::string(text == nullptr ? std::string_view() : std::string_view(text)) {}
    template <std::convertible_to<std::string_view> Text>
    requires(!std::is_pointer_v<std::decay_t<Text>> && !std::is_null_pointer_v<Text>)
        // NOLINTNEXTLINE(google-explicit-constructor): implicit, see above
        PathArgument(Text const& text)
        : std::string(std::string_view(text)) {}
    // Converts from and to a std::filesystem::path without its header, which compiles slowly.
    template <class Path>
    requires std::same_as<typename Path::string_type, std::string>
    // NOLINTNEXTLINE(google-explicit-constructor): implicit, see above
    PathArgument(Path const& path) : std::string(path.native()) {}
    template <class Path>
    requires std::same_as<typename Path::string_type, std::string>
    // NOLINTNEXTLINE(google-explicit-constructor): implicit, see above
    operator Path() const { return static_cast<std::string const&>(*this); }
};

// Options for tests only: the member `for_tests` in the options of rings and services.
struct ForTests {
    // The number of the first message, value, chunk or call: tests place it before a wrap. In an
    // MPMC ring it is 1 more than a multiple of a stripe, in a HostService 1 more than a multiple
    // of 16.
    Sequence first = 1;
};

}  // namespace carillon
