// SPDX-License-Identifier: Apache-2.0
#include "nvrtc/jit_link.hpp"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "carillon/error.hpp"
#include "nvrtc/toolkit_library.hpp"

namespace carillon::detail {
namespace {

constexpr ToolkitLibrary jit_link_library{
    "libnvJitLink.so", "CARILLON_NVJITLINK",
    "functions in LTO-IR are linked by nvJitLink of CUDA 12.4 or later: install the CUDA toolkit, "
    "or its Python wheel nvidia-nvjitlink, and where it is not found set CARILLON_NVJITLINK to the "
    "path of libnvJitLink.so"};

// The values of nvJitLink.h.
using LinkHandle = void*;
constexpr int input_lto_ir = 3;

struct JitLinkFunctions {
    int (*create)(LinkHandle*, std::uint32_t, char const**);
    int (*destroy)(LinkHandle*);
    int (*add)(LinkHandle, int, void const*, std::size_t, char const*);
    int (*complete)(LinkHandle);
    int (*code_size)(LinkHandle, std::size_t*);
    int (*code)(LinkHandle, void*);
    int (*log_size)(LinkHandle, std::size_t*);
    int (*log)(LinkHandle, char*);

    explicit JitLinkFunctions(std::filesystem::path const& file) {
        void* const opened = open_library(jit_link_library, file);
        auto const look = [&](char const* name, auto*& function) {
            look_up(jit_link_library, opened, name, function);
        };
        look("nvJitLinkCreate", create);
        look("nvJitLinkDestroy", destroy);
        look("nvJitLinkAddData", add);
        look("nvJitLinkComplete", complete);
        look("nvJitLinkGetLinkedCubinSize", code_size);
        look("nvJitLinkGetLinkedCubin", code);
        look("nvJitLinkGetErrorLogSize", log_size);
        look("nvJitLinkGetErrorLog", log);
    }
};

class JitLink {
   public:
    JitLink(JitLinkFunctions const& functions, std::string const& architecture)
        : functions_(functions) {
        std::string const target = "-arch=" + architecture;
        std::array<char const*, 2> options{target.c_str(), "-lto"};
        check(functions_.create(&handle_, options.size(), options.data()));
    }
    JitLink(JitLink const&) = delete;
    JitLink& operator=(JitLink const&) = delete;
    ~JitLink() { functions_.destroy(&handle_); }

    // `name` is the part's name in the log.
    void add(std::string const& name, std::string const& part) const {
        check(functions_.add(handle_, input_lto_ir, part.data(), part.size(), name.c_str()));
    }
    [[nodiscard]] std::string code() const {
        check(functions_.complete(handle_));
        std::size_t size = 0;
        check(functions_.code_size(handle_, &size));
        std::string bytes(size, '\0');
        check(functions_.code(handle_, bytes.data()));
        return bytes;
    }

   private:
    void check(int result) const {
        if (result == 0) return;
        std::size_t size = 0;
        std::string log = "it says no";
        if (handle_ != nullptr && functions_.log_size(handle_, &size) == 0 && size > 1) {
            log.assign(size, '\0');
            (void)functions_.log(handle_, log.data());
            log.resize(log.find_last_not_of(std::string_view("\0\n", 2)) + 1);
        }
        throw CompileError("nvJitLink: " + log);
    }

    JitLinkFunctions const& functions_;
    LinkHandle handle_ = nullptr;
};

}  // namespace

std::string link_parts(std::filesystem::path const& library, std::string const& architecture,
                       std::vector<std::string> const& parts) {
    JitLinkFunctions const functions(library);
    JitLink const link(functions, architecture);
    for (std::size_t i = 0; i < parts.size(); ++i) link.add(fmt::format("part {}", i), parts[i]);
    return link.code();
}

}  // namespace carillon::detail
