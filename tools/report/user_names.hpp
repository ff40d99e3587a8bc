// SPDX-License-Identifier: Apache-2.0
// Users and groups as options name them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace carillon::tool {

// The number for a user or group given by number or name. Both throw UsageError, in the name of
// `option`, if no user or group has the name.
[[nodiscard]] std::uint32_t user_number(std::string_view option, std::string const& name);
[[nodiscard]] std::uint32_t group_number(std::string_view option, std::string const& name);

}  // namespace carillon::tool
