// SPDX-License-Identifier: Apache-2.0
// `carillon info`: the devices, and how they would be used.
#pragma once

#include <memory>

#include "command/command.hpp"

namespace carillon::tool {

[[nodiscard]] std::unique_ptr<Command> make_info_command();

}  // namespace carillon::tool
