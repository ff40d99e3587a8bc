// SPDX-License-Identifier: Apache-2.0
// The form of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace carillon::tool {

// An option is `--rounds N`, then its description and its default; CLI11 would add the C++ type and
// the range. Descriptions are wrapped at 80 columns.
class HelpFormatter final : public CLI::Formatter {
   public:
    HelpFormatter();
    std::string make_option_name(CLI::Option const* option, bool is_positional) const override;
    std::string make_option_opts(CLI::Option const* option) const override;
    std::string make_option_desc(CLI::Option const* option) const override;
    std::string make_subcommand(CLI::App const* subcommand) const override;
};

}  // namespace carillon::tool
