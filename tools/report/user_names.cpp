// SPDX-License-Identifier: Apache-2.0
#include "report/user_names.hpp"

#include <fmt/format.h>
#include <grp.h>
#include <pwd.h>

#include <carillon/error.hpp>
#include <charconv>
#include <cstdint>
#include <optional>

namespace carillon::tool {
namespace {

std::optional<std::uint32_t> number_of(std::string const& text) {
    std::uint32_t number = 0;
    char const* const end = text.data() + text.size();
    auto const [at, error] = std::from_chars(text.data(), end, number);
    bool const nobodys = number == UINT32_MAX;  // the system takes it for "no change"
    if (error != std::errc() || at != end || nobodys) return {};
    return number;
}

}  // namespace

std::uint32_t user_number(std::string_view option, std::string const& name) {
    if (auto const number = number_of(name)) return *number;
    ::passwd const* const found = ::getpwnam(name.c_str());
    if (found == nullptr) throw UsageError(option, fmt::format("there is no user \"{}\"", name));
    return found->pw_uid;
}

std::uint32_t group_number(std::string_view option, std::string const& name) {
    if (auto const number = number_of(name)) return *number;
    ::group const* const found = ::getgrnam(name.c_str());
    if (found == nullptr) throw UsageError(option, fmt::format("there is no group \"{}\"", name));
    return found->gr_gid;
}

}  // namespace carillon::tool
