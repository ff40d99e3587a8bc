// SPDX-License-Identifier: Apache-2.0
// NVRTC, found at run time: building needs nothing of it, and a program starts without it.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace carillon::detail {

// What is compiled: a text, and headers that are in memory, each with the name it is included by.
struct NvrtcProgram {
    std::string name;  // of the text, in the log
    std::string text;
    std::vector<std::pair<std::string, std::string>> headers;
};

class Nvrtc {
   public:
    // `library`: its file, which nothing else takes the place of; empty: $CARILLON_NVRTC, or what
    // is installed. Throws UnsupportedError where there is none, or one that is too old.
    explicit Nvrtc(std::filesystem::path const& library);

    // "13.0".
    [[nodiscard]] std::string version() const;
    // Compute capabilities, as 90, that it makes machine code for.
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

    Functions const& functions_;
    int major_ = 0;
    int minor_ = 0;
};

}  // namespace carillon::detail
