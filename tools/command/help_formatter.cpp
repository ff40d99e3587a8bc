// SPDX-License-Identifier: Apache-2.0
#include "command/help_formatter.hpp"

#include <fmt/format.h>

#include <sstream>

namespace carillon::tool {
namespace {

constexpr std::size_t line_length = 80;
constexpr std::size_t first_column = 25;  // of descriptions

}  // namespace

std::string wrapped(std::string const& text, std::size_t column) {
    std::istringstream words(text);
    std::string lines;
    std::size_t length = 0;
    for (std::string word; words >> word; length += word.size()) {
        if (length != 0) {
            bool const fits = length + 1 + word.size() <= line_length - column;
            lines += fits ? ' ' : '\n';
            length = fits ? length + 1 : 0;
        }
        lines += word;
    }
    return lines;
}

HelpFormatter::HelpFormatter() {
    column_width(first_column);
    label("Positionals", "Arguments");
    label("OPTIONS", "OPTION...");
}

std::string HelpFormatter::make_option_name(CLI::Option const* option, bool is_positional) const {
    std::string const name = CLI::Formatter::make_option_name(option, is_positional);
    return name.substr(0, name.find('{'));  // `--json{-}`: the value of a flag without one
}

std::string HelpFormatter::make_option_opts(CLI::Option const* option) const {
    if (option->get_positional()) return option->get_expected_max() > 1 ? "..." : "";
    std::string const& value = option->get_option_text();
    return value.empty() || value.front() == '[' ? value : " " + value;
}

std::string HelpFormatter::make_option_desc(CLI::Option const* option) const {
    std::string const& preset = option->get_default_str();
    bool const shown = !preset.empty() && preset != "[]";
    return wrapped(
        option->get_description() + (shown ? fmt::format(" (default {})", preset) : std::string()),
        first_column);
}

std::string HelpFormatter::make_subcommand(CLI::App const* subcommand) const {
    std::string const& text = subcommand->get_description();
    constexpr std::size_t column = 12;
    std::ostringstream out;
    CLI::detail::format_help(out, subcommand->get_display_name(true),
                             wrapped(text.substr(0, text.find('\n')), column), column);
    return out.str();
}

}  // namespace carillon::tool
