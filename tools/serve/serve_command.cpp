// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
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
#include "measure/open.hpp"
#include "report/output.hpp"
#include "serve/running_served.hpp"

namespace carillon::tool {
namespace {

constexpr std::chrono::milliseconds look_at_kernel{200};
// In the order of the numbers in ServedKernelOptions.
std::vector<std::string> const idle_policies{"auto", "spin", "backoff", "park"};

class ServeCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        command_line.add_option("path", request_.path, "of the socket that is made")->required();
        auto* const library =
            command_line
                .add_option("--library", library_,
                            "a shared library with a kernel: CARILLON_SERVED_KERNEL, or "
                            "CARILLON_SERVED_POOL")
                ->check(why_no_path);
        command_line
            .add_option("--kernel", kernel_,
                        "one that is built in: echo (48 bytes each way) or count (8 bytes there, "
                        "16 back)")
            ->check(CLI::IsMember({"echo", "count"}))
            ->excludes(library)
            ->capture_default_str();
        command_line.add_option("--device", request_.device, Device::selectors());
        command_line
            .add_option("--blocks", request_.blocks,
                        "how many serve; without a pool each has one client at a time")
            ->check(CLI::Range(1, 65536))
            ->capture_default_str();
        command_line
            .add_option("--clients", request_.clients,
                        "a pool, all of whose blocks serve so many clients at a time")
            ->check(CLI::Range(1, 64));
        command_line
            .add_option("--capacity", request_.capacity, "slots of a channel, a power of two")
            ->capture_default_str();
        command_line.add_option("--name", request_.name, "that clients ask for")
            ->capture_default_str();
        command_line.add_option("--mode", mode_, "permissions of the socket, octal")
            ->capture_default_str();
        command_line.add_option("--user", users_, "who may attach, by name or number; several");
        command_line.add_option("--group", groups_, "whose members may attach; several");
        command_line
            .add_option("--idle", idle_,
                        "what a block does while nothing comes; auto: spin on a GPU, else park")
            ->check(CLI::IsMember(idle_policies))
            ->capture_default_str();
        command_line.add_option("--drain-ms", drain_ms_, "how long clients may take at the end")
            ->check(CLI::Range(0, 3'600'000))
            ->capture_default_str();
    }

    void run() override {
        Ends ends;
        std::optional<RunningServed> served;
        // A library, a driver or the system's list of users may take any time.
        ends.do_or_leave([&] { start(served); },
                         [] {
                             fmt::print(stderr, "carillon: serve: told to end before it served\n");
                             return 0;
                         });
        tell(served->facts());
        while (!ends.come_within(look_at_kernel)) {
            if (!served->running()) throw Error("serve", "the kernel has ended by itself");
        }
        (void)ends.await();  // the one that has come; a later one ends the drain
        ends.do_or_leave([&] { served->drain(static_cast<std::uint64_t>(drain_ms_)); },
                         [] {
                             fmt::print(stderr,
                                        "carillon: serve: told twice to end: the drain is cut "
                                        "short, and requests may be unanswered\n");
                             return 1;
                         });
        fmt::print("ended: all that was accepted is answered\n");
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
    int drain_ms_ = 5000;
};

}  // namespace

std::unique_ptr<Command> make_serve_command() { return std::make_unique<ServeCommand>(); }

}  // namespace carillon::tool
