// SPDX-License-Identifier: Apache-2.0
// NVRTC and nvJitLink, found at run time: building needs nothing of them, and a program starts
// without them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace carillon::detail {

// The input of a compilation: a text, and headers in memory, each with its name in #include.
struct NvrtcProgram {
    std::string name;  // of the text, in the log
    std::string text;
    std::vector<std::pair<std::string, std::string>> headers;
};

class Nvrtc {
   public:
    // `library` is NVRTC's file, without alternatives; empty: $CARILLON_NVRTC, or an installed one.
    // Throws UnsupportedError if there is none, or one that is too old.
    explicit Nvrtc(std::filesystem::path const& library);

    // "13.0".
    [[nodiscard]] std::string version() const;
    // The compute capabilities for which it makes machine code, such as 90.
    [[nodiscard]] std::vector<int> architectures() const;

    // Throws CompileError for a text that does not compile and UsageError for options that NVRTC
    // does not have.
    struct Compiled {
        std::string cubin;  // with the option -dlto it is LTO-IR, for link_parts()
        std::string log;    // warnings
    };
    [[nodiscard]] Compiled compile(NvrtcProgram const& program,
                                   std::vector<std::string> const& options) const;

   private:
    struct Functions;

    std::shared_ptr<Functions const> functions_;
    int major_ = 0;
    int minor_ = 0;
};

// Links several parts in LTO-IR into one machine code, by nvJitLink, found at run time: functions
// of one part are inlined into another. `library` is nvJitLink's file, see Nvrtc. Throws
// UnsupportedError if there is none, CompileError for parts that do not fit.
[[nodiscard]] std::string link_parts(std::filesystem::path const& library,
                                     std::string const& architecture,
                                     std::vector<std::string> const& parts);

}  // namespace carillon::detail
