// SPDX-License-Identifier: Apache-2.0
// A handler as text: the input of NVRTC, what is kept of the result, and the devices that have
// loaded it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/detail/kernel/text_kernel.hpp"
#include "carillon/device.hpp"
#include "carillon/handler_text.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"
#include "device/backend.hpp"
#include "nvrtc/nvrtc.hpp"

namespace carillon::detail {

// The folder with the library's headers: `chosen`, $CARILLON_HEADERS, or a folder near the library
// or the program. Throws UnsupportedError if it has none.
[[nodiscard]] std::filesystem::path find_headers(std::filesystem::path const& chosen);

// A hash of their content. Throws SystemError.
[[nodiscard]] std::uint64_t hash_of_headers(std::filesystem::path const& folder);

// `before` goes before the text, whose lines are counted from 1 as those of "handler".
[[nodiscard]] NvrtcProgram handler_source(std::string_view before, std::string_view text,
                                          std::uint32_t request_bytes, std::uint32_t reply_bytes);

// Whether a text that is compiled with these options may include files other than the library's and
// its replacements of standard headers: their content is then unknown here. Also true for a text
// that has the words "include", "embed" or "__has_" elsewhere.
[[nodiscard]] bool may_include_others(std::string_view text,
                                      std::vector<std::string> const& options);

// Facts that the kernels of a handler contain.
struct TextKernelFacts {
    unsigned threads = 1;  // of a block
    bool bounded = false;  // which of the two forms of a kernel is not empty
};
// Throws FormatError if it is no such machine code.
[[nodiscard]] TextKernelFacts facts_of(std::string_view cubin);

// Machine code that was compiled before, in this process and in files.
class HandlerCache {
   public:
    // `folder` has the files; empty: there are none. It is made when a file is written.
    explicit HandlerCache(std::filesystem::path folder) : folder_(std::move(folder)) {}
    // carillon/ in the user's cache folder; empty if none is known.
    [[nodiscard]] static std::filesystem::path own_folder();

    // The code that was kept for `key`, which names everything that determines the code. A file
    // that is not whole, or another key's, counts as none.
    [[nodiscard]] std::optional<Nvrtc::Compiled> find(std::string const& key) const;
    // Looks only in the files.
    [[nodiscard]] std::optional<Nvrtc::Compiled> find_file(std::string const& key) const;
    // Keeps it for this process and, if possible, in a file, which is there whole or not at all.
    void keep(std::string const& key, Nvrtc::Compiled const& compiled) const noexcept;

    [[nodiscard]] std::filesystem::path file_of(std::string_view key) const;

   private:
    std::filesystem::path folder_;
};

// A handler's machine code, and the devices that have loaded it. Any thread may call it.
class HandlerCode {
   public:
    HandlerCode(BytesType request, BytesType reply, int compute_capability, std::string cubin,
                std::string log, bool was_cached);

    [[nodiscard]] static CompiledHandler handler(std::shared_ptr<HandlerCode> code) {
        return CompiledHandler(std::move(code));
    }
    [[nodiscard]] static HandlerCode& of(CompiledHandler const& handler) { return *handler.code_; }

    // Loads it on the device if necessary. Throws UsageError for a device of another compute
    // capability, and what Backend::load throws.
    void load(Device const& device);
    // Starts it with `kernel`, for clients of this process or of `others`. It must be loaded on the
    // device.
    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      TextKernel const& kernel, bool others);

    BytesType const request;
    BytesType const reply;
    int const compute_capability;
    std::string const cubin;
    std::string const log;
    bool const was_cached;
    TextKernelFacts const facts;

   private:
    // nullptr: not yet. Call it with the mutex held.
    [[nodiscard]] std::shared_ptr<LoadedCode> loaded_on(Backend const& backend) const;

    struct Loaded {
        std::shared_ptr<Backend> backend;
        std::shared_ptr<LoadedCode> code;
    };

    mutable std::mutex mutex_;
    std::vector<Loaded> loaded_;  // one for each device that has loaded it
};

}  // namespace carillon::detail
