// SPDX-License-Identifier: Apache-2.0
// `--owner-user` of the commands that ask owners.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "command/command.hpp"

namespace CLI {
class Option;
}

namespace carillon::tool {

class OwnerUser {
   public:
    void add_to(CLI::App& command_line);
    // The value for ConnectOptions::owner_user. Throws UsageError if no user has the name.
    [[nodiscard]] std::optional<std::uint32_t> number() const;

   private:
    std::string user_;
    CLI::Option* option_ = nullptr;
};

}  // namespace carillon::tool
