// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <carillon/device.hpp>
#include <carillon/error.hpp>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "command/common.hpp"
#include "command/ends.hpp"
#include "command/time_option.hpp"
#include "measure/open.hpp"
#include "report/output.hpp"
#include "serve/running_served.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::milliseconds look_at_kernel{200};
// In the order of the numbers in ServedKernelOptions.
std::vector<std::string> const idle_policies{"auto", "spin", "backoff", "park"};

class ServeCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("PATH", request_.path, "make the socket at this path")->required();
        auto* const library =
            command_line
                .add_option("--library", library_,
                            "serve the kernel of this shared library, which CARILLON_SERVED_KERNEL "
                            "or CARILLON_SERVED_POOL makes")
                ->check(why_no_path)
                ->option_text("FILE");
        command_line
            .add_option("--kernel", kernel_,
                        "serve a built-in kernel: echo (48 bytes each way) or count (8 bytes "
                        "there, 16 back)")
            ->check(CLI::IsMember({"echo", "count"}))
            ->excludes(library)
            ->option_text("NAME");
        add_device(command_line, request_.device);
        add_number(command_line, "--blocks", request_.blocks, 1, 65536,
                   "start N blocks; without --clients each serves one client at a time");
        command_line
            .add_option("--clients", request_.clients,
                        "let all blocks together serve up to N clients at a time (default: one "
                        "client per block)")
            ->default_str("")
            ->check(CLI::Range(1, 64))
            ->option_text("N");
        add_capacity(command_line, request_.capacity);
        command_line.add_option("--name", request_.name, "let clients ask for this name")
            ->option_text("NAME");
        command_line.add_option("--mode", mode_, "give the socket these permissions, octal")
            ->option_text("MODE");
        command_line
            .add_option("--user", users_,
                        "let only this user and yours attach, a name or a number; may be repeated "
                        "(default: everyone whom --mode lets connect)")
            ->option_text("USER");
        command_line
            .add_option(
                "--group", groups_,
                "let the members of this group attach too, a name or a number; may be repeated")
            ->option_text("GROUP");
        command_line
            .add_option("--idle", idle_,
                        "let a block without requests spin, backoff or park; auto: spin on a GPU, "
                        "park elsewhere")
            ->check(CLI::IsMember(idle_policies))
            ->option_text("POLICY");
        add_time(command_line, "--drain", drain_, 0s, 1h,
                 "at the end wait up to TIME for the requests of clients");
    }

    void run() override {
        Ends ends;
        std::optional<RunningServed> served;
        // A library, a driver or the system's list of users may take any time.
        ends.do_or_leave([&] { start(served); },
                         [] {
                             fmt::print(stderr,
                                        "carillon: serve: ended by a signal before it served\n");
                             return 0;
                         });
        tell(served->facts());
        while (!ends.come_within(look_at_kernel)) {
            if (!served->running()) throw Error("serve", "the kernel ended before it was stopped");
        }
        (void)ends.await();  // the one that has come; a later one ends the drain
        ends.do_or_leave(
            [&] {
                served->drain(static_cast<std::uint64_t>(
                    std::chrono::ceil<std::chrono::milliseconds>(drain_).count()));
            },
            [] {
                fmt::print(stderr,
                           "carillon: serve: a second signal ended the drain: "
                           "requests may be unanswered\n");
                return 1;
            });
        fmt::print("ended: every accepted request was answered\n");
    }

   private:
    void start(std::optional<RunningServed>& served) {
        kernel_library_ = library_.empty() ? builtin_kernel(kernel_, request_.clients == 0
                                                                         ? BuiltinKind::block_each
                                                                         : BuiltinKind::pool)
                                           : &load_kernel(library_);
        complete_request();
        served.emplace(*kernel_library_, request_);
    }

    void complete_request() {
        char const* const end = mode_.data() + mode_.size();
        auto const [at, error] = std::from_chars(mode_.data(), end, request_.mode, 8);
        if (error != std::errc() || at != end) {
            throw UsageError("serve",
                             fmt::format("--mode {} is not an octal number of 32 bits", mode_));
        }
        auto const idle = std::ranges::find(idle_policies, idle_);
        request_.idle = static_cast<std::uint32_t>(idle - idle_policies.begin());
        for (auto const& each : users_) request_.users.push_back(user_number("--user", each));
        for (auto const& each : groups_) request_.groups.push_back(group_number("--group", each));
        // A built-in handler has device code exactly if the command has.
        if (library_.empty()) request_.device = open_usable(request_.device).device.info().selector;
    }

    void tell(ServedKernelFacts const& facts) const {
        std::string const clients =
            facts.clients == facts.blocks ? "" : fmt::format(" for {} clients", facts.clients);
        fmt::print("serving {} as {} at {}: {} block{}{} on {}{}\n", kernel_library_->handler,
                   request_.name, request_.path, facts.blocks, facts.blocks == 1 ? "" : "s",
                   clients, facts.device, facts.emulated != 0 ? ", the EMULATED device" : "");
        flush_output_if_read();
    }

    ServeRequest request_;
    ServedKernelLibrary const* kernel_library_ = nullptr;
    std::string kernel_ = "echo";
    std::string library_;
    std::string mode_ = "600";
    std::string idle_ = "auto";
    std::vector<std::string> users_;
    std::vector<std::string> groups_;
    std::chrono::nanoseconds drain_ = 5s;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace carillon::tool
