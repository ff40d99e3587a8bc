// SPDX-License-Identifier: Apache-2.0
// `carillon serve`: owns a kernel that its user chooses.
#pragma once

#include <carillon/served_library.hpp>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "command/command.hpp"
#include "report/user_names.hpp"

namespace carillon::tool {

enum class BuiltinKind : std::uint8_t { block_each, pool };
// A kernel that comes with the command: "echo" answers 48 bytes with the same, "count" 8 bytes with
// twice the number and with how many requests the block had answered. nullptr for another name.
[[nodiscard]] ServedKernelLibrary const* builtin_kernel(std::string_view name,
                                                        BuiltinKind kind = BuiltinKind::block_each);

// The kernel of a library, which stays loaded: threads may be in its code. Throws UnsupportedError,
// which names the file and the cause, if the file is no library with a kernel of this version.
[[nodiscard]] ServedKernelLibrary const& load_kernel(std::filesystem::path const& file);

struct ServeRequest {
    std::string path;
    std::string name = "kernel";
    std::string device = "best";
    std::uint32_t blocks = 1;
    std::uint32_t capacity = 256;
    std::uint32_t mode = 0600;
    std::vector<std::uint32_t> users{};
    std::vector<std::uint32_t> groups{};
    std::uint32_t idle = 0;     // see ServedKernelOptions
    std::uint32_t clients = 0;  // see ServedKernelOptions
};

// A kernel that is served for as long as this is there.
class RunningServed {
   public:
    // Throws UsageError and Error with the words of the kernel's own side.
    RunningServed(ServedKernelLibrary const& library, ServeRequest const& request);
    RunningServed(RunningServed const&) = delete;
    RunningServed& operator=(RunningServed const&) = delete;
    ~RunningServed();

    [[nodiscard]] ServedKernelFacts const& facts() const { return facts_; }
    // Throws the error that ended it.
    [[nodiscard]] bool running() const;
    // Throws if requests are unanswered after this time.
    void drain(std::uint64_t milliseconds);

   private:
    ServedKernelLibrary const& library_;
    ServedKernelFacts facts_{};
    void* kernel_;
};

[[nodiscard]] std::unique_ptr<Command> make_serve_command();

}  // namespace carillon::tool
