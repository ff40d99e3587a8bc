// SPDX-License-Identifier: Apache-2.0
// The form of --help.
#pragma once

#include <CLI/CLI.hpp>
#include <cstddef>
#include <string>

namespace carillon::tool {

// The text in lines that begin at `column` and end at column 80.
[[nodiscard]] std::string wrapped(std::string const& text, std::size_t column = 0);

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
