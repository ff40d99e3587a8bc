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
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "build_info.hpp"
#include "command/command.hpp"
#include "command/help_formatter.hpp"
#include "command/progress.hpp"
#include "measure/interrupt.hpp"
#include "report/output.hpp"

namespace carillon::tool {
namespace {

constexpr int failure = 1;
constexpr int bad_usage = 2;
constexpr int ended_by_interrupt = 130;  // as a shell reports SIGINT

// CLI11 accepts nan as a number, and nan passes every comparison with a bound.
std::string why_not_finite(std::string const& text) {
    return std::isfinite(std::strtod(text.c_str(), nullptr)) ? ""
                                                             : text + " is not a finite number";
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

// The arguments. Beside subcommands `help`, `help SUBCOMMAND` and `version` are spellings of
// options.
std::vector<std::string> words_of(int argc, char** argv, bool has_subcommands) {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (words.empty() || !has_subcommands) return words;
    if (words.front() == "version") words.front() = "--version";
    if (words.front() == "help") {
        words.erase(words.begin());
        words.emplace_back("--help");
    }
    return words;
}

// The error in a command line that CLI11 accepts or has a poor text for; empty if there is none.
std::string why_not_accepted(CLI::App const& app, std::vector<std::string> const& words) {
    if (std::ranges::find(words, "--json=") != words.end()) return "--json: the path is empty";
    if (app.get_subcommands({}).empty()) return "";
    if (words.empty()) return fmt::format("no subcommand; see {} --help", app.get_name());
    std::string const& first = words.front();
    auto const named = [&](CLI::App const* each) { return each->get_name() == first; };
    if (first.starts_with("-") || !app.get_subcommands(named).empty()) return "";
    return fmt::format("unknown subcommand '{}'; see {} --help", first, app.get_name());
}

// The error in a command line that CLI11 refused. Its own text does not name an unknown option
// without a subcommand, and for another one it begins with the word after the option's value.
std::string why_not_parsed(CLI::App const& app, CLI::ParseError const& error) {
    auto const used = app.get_subcommands();
    std::string const program =
        used.empty() ? app.get_name() : app.get_name() + " " + used.front()->get_name();
    auto const unknown = app.remaining(true);
    auto const option = std::ranges::find_if(
        unknown, [](std::string const& word) { return word.size() > 1 && word.front() == '-'; });
    if (option != unknown.end()) {
        return fmt::format("unknown option '{}'; see {} --help", *option, program);
    }
    if (unknown.empty()) return fmt::format("{}; see {} --help", error.what(), program);
    auto const* const json = used.empty() ? app.get_option_no_throw("--json")
                                          : used.front()->get_option_no_throw("--json");
    if (json != nullptr && json->count() != 0) {
        return fmt::format(
            "unexpected argument '{}': a file for --json is --json=FILE; see {} --help",
            unknown.front(), program);
    }
    return fmt::format("unexpected argument '{}'; see {} --help", unknown.front(), program);
}

std::string examples_text(char const* examples) { return fmt::format("Examples:\n{}", examples); }

// The texts around the options of a command.
void add_texts(CLI::App& command_line, CommandEntry const& entry) {
    command_line.description(fmt::format("{}\n\n{}\n", entry.what, wrapped(entry.about)));
    bool const has_times = std::ranges::any_of(command_line.get_options(), [](auto const* option) {
        return option->get_option_text() == "TIME";
    });
    command_line.footer((has_times ? "A TIME is a number with ns, us, ms, s, min or h; without a "
                                     "unit, of seconds.\n\n"
                                   : "") +
                        examples_text(entry.examples));
}

// Reads the command line. Returns the exit status if there is nothing to run: after --help,
// --version or an error.
std::optional<int> read_words(CLI::App& app, std::vector<std::string> words) {
    std::string wrong = why_not_accepted(app, words);
    try {
        std::ranges::reverse(words);  // as CLI11 takes them
        if (wrong.empty()) app.parse(std::move(words));
    } catch (CLI::ParseError const& error) {
        if (error.get_exit_code() == 0) {  // --help, --version
            std::ostringstream text;
            (void)app.exit(error, text, text);
            fmt::print("{}", text.str());
            return 0;
        }
        wrong = why_not_parsed(app, error);
    }
    if (wrong.empty()) return {};
    fmt::print(stderr, "{}: {}\n", app.get_name(), wrong);
    return bad_usage;
}

int run(Program const& program, int argc, char** argv) {
    CLI::App app(program.what, program.name);
    app.formatter(std::make_shared<HelpFormatter>());
    app.option_defaults()->always_capture_default();
    app.set_help_flag("-h,--help", "show this help and exit");
    bool const has_subcommands = program.commands.size() > 1;
    if (has_subcommands) {
        app.require_subcommand(1);
        app.footer(fmt::format("'{} help SUBCOMMAND' shows the options of a subcommand.\n\n{}",
                               program.name, examples_text(program.examples)));
    }
    std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
    for (CommandEntry const& each : program.commands) {
        CLI::App* const command_line =
            has_subcommands ? app.add_subcommand(each.name)->group(each.group) : &app;
        commands.emplace_back(command_line, each.make()).second->add_options(*command_line);
        add_texts(*command_line, each);
        require_plain_numbers(*command_line);
    }
    app.set_version_flag("--version", version, "show the version and exit");
    if (auto const status = read_words(app, words_of(argc, argv, has_subcommands))) return *status;
    for (auto const& [command_line, command] : commands) {
        if (command_line->parsed()) command->run();
    }
    if (!ended_early()) return 0;
    std::fputs(fmt::format("{}: interrupted: the report has only what was measured until then\n",
                           program.name)
                   .c_str(),
               stderr);
    return ended_by_interrupt;
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
        clear_progress();
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
