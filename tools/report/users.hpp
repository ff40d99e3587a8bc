// SPDX-License-Identifier: Apache-2.0
// Users and groups as options name them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace carillon::tool {

// Of numbers or names. Both throw UsageError, in the name of `option`, for a name that nobody has.
[[nodiscard]] std::uint32_t user_number(std::string_view option, std::string const& name);
[[nodiscard]] std::uint32_t group_number(std::string_view option, std::string const& name);

}  // namespace carillon::tool
