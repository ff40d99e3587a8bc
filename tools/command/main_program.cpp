// SPDX-License-Identifier: Apache-2.0
#include "command/main_program.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <carillon/error.hpp>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "build_info.hpp"
#include "command/command.hpp"
#include "report/output.hpp"

namespace carillon::tool {
namespace {

constexpr int failure = 1;
constexpr int bad_usage = 2;

// CLI11 accepts nan as a number, and nan passes every comparison with a bound.
std::string why_not_finite(std::string const& text) {
    return std::isfinite(std::strtod(text.c_str(), nullptr)) ? "" : text + " is no finite number";
}

// CLI11 takes 010 for 8.
std::string why_not_decimal(std::string const& text) {
    auto const zero = text.find_first_not_of(" +-");
    bool const octal = zero < text.size() && text[zero] == '0' &&
                       text.find_first_of("0123456789", zero + 1) == zero + 1;
    return octal ? text + " begins with a 0: leave it out" : "";
}

void require_plain_numbers(CLI::App& command_line) {
    for (CLI::Option* const each : command_line.get_options()) {
        std::string const type = each->get_type_name();
        if (type.starts_with("FLOAT")) each->check(why_not_finite);
        if (type.starts_with("INT") || type.starts_with("UINT")) each->check(why_not_decimal);
    }
}

// The error in a command line. CLI11's text does not name a first word that is no command, and for
// an unknown option it begins with the word after the option's value.
std::string why_not_parsed(CLI::App const& app, CLI::ParseError const& error) {
    auto const unknown = app.remaining(true);
    auto const option = std::ranges::find_if(
        unknown, [](std::string const& word) { return word.starts_with("--"); });
    if (option != unknown.end() && dynamic_cast<CLI::ExtrasError const*>(&error) != nullptr) {
        return fmt::format("there is no command or option \"{}\": --help lists them", *option);
    }
    auto const words = app.remaining();
    if (words.empty() || !app.get_subcommands().empty()) return error.what();
    return fmt::format("there is no command or option \"{}\": --help lists them", words.front());
}

int run(Program const& program, int argc, char** argv) {
    CLI::App app(program.what, program.name);
    app.set_version_flag("--version", version);
    bool const has_subcommands = program.commands.size() > 1;
    if (has_subcommands) app.require_subcommand(1);
    std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
    for (CommandEntry const& each : program.commands) {
        CLI::App* const command_line =
            has_subcommands ? app.add_subcommand(each.name, each.what) : &app;
        commands.emplace_back(command_line, each.make()).second->add_options(*command_line);
        require_plain_numbers(*command_line);
    }
    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        if (error.get_exit_code() == 0) {  // --help, --version
            std::ostringstream text;
            (void)app.exit(error, text, text);
            fmt::print("{}", text.str());
            return 0;
        }
        fmt::print(stderr, "{}: {}\n", program.name, why_not_parsed(app, error));
        return bad_usage;
    }
    for (auto const& [command_line, command] : commands) {
        if (command_line->parsed()) command->run();
    }
    return 0;
}

// Whether `error` says that the reader of standard output has gone: it wanted no more.
bool is_reader_gone(std::exception const& error) {
    if (auto const* const lost = dynamic_cast<SystemError const*>(&error)) {
        return lost->call() == output_name && lost->code() == EPIPE;
    }
    auto const* const printed = dynamic_cast<std::system_error const*>(&error);
    return printed != nullptr && printed->code().value() == EPIPE;
}

// Runs `part` and returns the exit status. An error is one line on standard error.
int status_of(char const* program, std::function<int()> const& part) {
    auto const tell = [&](std::exception const& error) {
        std::fputs(fmt::format("{}: {}\n", program, error.what()).c_str(), stderr);
    };
    try {
        return part();
    } catch (UsageError const& error) {
        tell(error);
        return bad_usage;
    } catch (std::exception const& error) {
        if (is_reader_gone(error)) return 0;
        tell(error);
        return failure;
    }
}

}  // namespace

int run_program(Program const& program, int argc, char** argv) {
    prepare_standard_streams();
    return status_of(program.name, [&] {
        int const status = run(program, argc, argv);
        flush_output();
        return status;
    });
}

}  // namespace carillon::tool
