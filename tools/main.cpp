// SPDX-License-Identifier: Apache-2.0
// The `carillon` command. Exit status: 0 success, 1 failure, 2 usage.
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
#include "copy/copy.hpp"
#include "doctor/doctor.hpp"
#include "idle/idle.hpp"
#include "info/info.hpp"
#include "ipc/ipc.hpp"
#include "load/load.hpp"
#include "ls/ls.hpp"
#include "metrics/metrics.hpp"
#include "rate/rate.hpp"
#include "replay/replay.hpp"
#include "report/output.hpp"
#include "rtt/rtt.hpp"
#include "serve/serve.hpp"
#include "soak/soak.hpp"
#include "top/top.hpp"
#include "tune/tune.hpp"
#include "verify/verify.hpp"

namespace carillon::tool {
namespace {

constexpr int failure = 1;
constexpr int bad_usage = 2;

struct Entry {
    char const* name;
    char const* what;
    std::unique_ptr<Command> (*make)();
};

// Every command, in the order of --help.
constexpr Entry entries[] = {
    {"info", "devices, and how they would be used", make_info_command},
    {"rtt", "round-trip latency, ours and the rivals', at best and as users call",
     make_rtt_command},
    {"rate", "messages a second, and what a push costs, beside the rivals", make_rate_command},
    {"load", "how long calls take that are sent on a schedule, by share of the highest rate",
     make_load_command},
    {"replay", "sends an order-by-order feed, one call a record, and checks the tallies",
     make_replay_command},
    {"doctor", "whether this machine can do what a persistent kernel needs, and what helps",
     make_doctor_command},
    {"copy", "bandwidth of copies between CPU and device memory, ours and the rivals'",
     make_copy_command},
    {"soak", "whether anything is lost, or grows, under a long load or over many starts",
     make_soak_command},
    {"ipc",
     "calls from other processes, what clients that come and go cost, and whether anything is lost "
     "when processes are killed",
     make_ipc_command},
    {"idle", "what waking a block costs, and its waiting, by idle policy", make_idle_command},
    {"serve", "owns a kernel that clients of other processes command", make_serve_command},
    {"ls", "who serves kernels to other processes, and who has which of their blocks",
     make_ls_command},
    {"metrics", "what goes through the kernels that are served, for Prometheus",
     make_metrics_command},
    {"top", "what goes through the kernels that are served, live", make_top_command},
    {"tune",
     "finds the SMs and cores with the shortest calls, and keeps them in a profile "
     "for later kernels",
     make_tune_command},
    {"verify", "litmus tests of the order that the rings rely on, each with a negative control",
     make_verify_command},
};

// What CLI11 takes for a number, and what passes every comparison with a bound: nan.
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

// What is wrong with a command line, in CLI11's words. They do not name a first word that is no
// command, and of an option that there is not they begin with the word behind its value.
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

int run(int argc, char** argv) {
    CLI::App app("Low-latency command of a running GPU kernel from the CPU.", "carillon");
    app.set_version_flag("--version", version);
    app.require_subcommand(1);
    std::vector<std::pair<CLI::App*, std::unique_ptr<Command>>> commands;
    for (Entry const& each : entries) {
        CLI::App* const command_line = app.add_subcommand(each.name, each.what);
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
        fmt::print(stderr, "carillon: {}\n", why_not_parsed(app, error));
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

// The exit status of `part`, whose errors are told in one line.
int status_of(std::function<int()> const& part) {
    auto const tell = [](std::exception const& error) {
        std::fputs(fmt::format("carillon: {}\n", error.what()).c_str(), stderr);
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
}  // namespace carillon::tool

int main(int argc, char** argv) {
    using namespace carillon::tool;
    prepare_standard_streams();
    return status_of([&] {
        int const status = run(argc, argv);
        flush_output();
        return status;
    });
}
