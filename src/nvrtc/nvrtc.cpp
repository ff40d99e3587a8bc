// SPDX-License-Identifier: Apache-2.0
#include "nvrtc/nvrtc.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

// A library of the CUDA toolkit, found at run time.
struct ToolkitLibrary {
    std::string_view name;        // "libnvrtc.so"
    char const* variable;         // the environment variable that may have its path
    std::string_view how_to_get;  // advice for a machine without it
};

// The possible paths, the loader's folders first. Names in a toolkit of wheels have versions.
std::vector<std::string> paths_of(std::string_view name) {
    std::vector<std::string> found;
    auto const add_in = [&](std::string const& folder) {
        for (char const* version : {".13", ".12", ""}) {
            found.push_back(fmt::format("{}{}{}", folder, name, version));
        }
    };
    add_in("");
    auto const add = [&](std::string_view toolkit) {
        for (char const* folder : {"lib64", "lib"}) {
            add_in(fmt::format("{}/{}/", toolkit, folder));
        }
    };
    for (char const* variable : {"CUDA_HOME", "CUDA_PATH"}) {
        if (char const* const toolkit = std::getenv(variable); toolkit != nullptr) add(toolkit);
    }
    add("/usr/local/cuda");
    return found;
}

// Opens `chosen`, the file that the variable names, or the one that the loader, a toolkit of
// CUDA_HOME or CUDA_PATH, or /usr/local/cuda has. It stays open. Throws UnsupportedError.
void* open_library(ToolkitLibrary const& library, std::filesystem::path const& chosen) {
    std::string one = chosen.string();
    char const* const variable = std::getenv(library.variable);
    if (one.empty() && variable != nullptr) one = variable;
    std::string why;
    for (std::string const& path : one.empty() ? paths_of(library.name) : std::vector{one}) {
        void* const opened = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        if (opened != nullptr) return opened;
        if (why.empty()) why = ::dlerror();
    }
    throw UnsupportedError(fmt::format("dlopen({})", library.name),
                           fmt::format("{} ({})", library.how_to_get, why));
}

// Sets a function of such a library. Throws UnsupportedError.
template <class Function>
void look_up(ToolkitLibrary const& library, void* handle, char const* name, Function*& function) {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    if (function != nullptr) return;
    throw UnsupportedError(fmt::format("dlsym({})", name),
                           fmt::format("{} lacks it; {}", library.name, library.how_to_get));
}

// The bytes that a library gives by two calls. `check` throws for a result that is an error.
template <class Byte, class Check>
std::string bytes_of(void* handle, int (*size_of)(void*, std::size_t*), int (*get)(void*, Byte*),
                     Check const& check) {
    std::size_t size = 0;
    check(size_of(handle, &size));
    std::string bytes(size, '\0');
    check(get(handle, bytes.data()));
    return bytes;
}

std::string trimmed(std::string text) {
    text.resize(text.find_last_not_of(std::string_view("\0\n", 2)) + 1);
    return text;
}

// The values of nvrtc.h, which building does not need.
using NvrtcHandle = void*;
constexpr int nvrtc_success = 0;
constexpr int nvrtc_invalid_option = 5;
constexpr int nvrtc_compilation_failed = 6;

constexpr ToolkitLibrary nvrtc_library{
    "libnvrtc.so", "CARILLON_NVRTC",
    "a handler's text needs NVRTC of CUDA 12.4 or later: install the CUDA toolkit or its Python "
    "wheel nvidia-cuda-nvrtc, or set CARILLON_NVRTC to the path of libnvrtc.so"};

}  // namespace

#define CARILLON_NVRTC_FUNCTIONS(X)                                                             \
    X(nvrtcVersion, int(int*, int*))                                                            \
    X(nvrtcGetErrorString, char const*(int))                                                    \
    X(nvrtcGetNumSupportedArchs, int(int*))                                                     \
    X(nvrtcGetSupportedArchs, int(int*))                                                        \
    X(nvrtcCreateProgram,                                                                       \
      int(NvrtcHandle*, char const*, char const*, int, char const* const*, char const* const*)) \
    X(nvrtcDestroyProgram, int(NvrtcHandle*))                                                   \
    X(nvrtcCompileProgram, int(NvrtcHandle, int, char const* const*))                           \
    X(nvrtcGetCUBINSize, int(NvrtcHandle, std::size_t*))                                        \
    X(nvrtcGetCUBIN, int(NvrtcHandle, char*))                                                   \
    X(nvrtcGetLTOIRSize, int(NvrtcHandle, std::size_t*))                                        \
    X(nvrtcGetLTOIR, int(NvrtcHandle, char*))                                                   \
    X(nvrtcGetProgramLogSize, int(NvrtcHandle, std::size_t*))                                   \
    X(nvrtcGetProgramLog, int(NvrtcHandle, char*))

struct Nvrtc::Functions {
#define CARILLON_NVRTC_MEMBER(name, ...)          \
    using name##_type = __VA_ARGS__; /* NOLINT */ \
    name##_type* name = nullptr;
    CARILLON_NVRTC_FUNCTIONS(CARILLON_NVRTC_MEMBER)
#undef CARILLON_NVRTC_MEMBER

    explicit Functions(void* library) {
#define CARILLON_NVRTC_LOOK_UP(name, ...) look_up(nvrtc_library, library, #name, name);
        CARILLON_NVRTC_FUNCTIONS(CARILLON_NVRTC_LOOK_UP)
#undef CARILLON_NVRTC_LOOK_UP
    }

    void check(int result, std::string_view call) const {
        if (result != nvrtc_success) throw Error(call, nvrtcGetErrorString(result));
    }
};

Nvrtc::Nvrtc(std::filesystem::path const& library)
    : functions_(std::make_shared<Functions const>(open_library(nvrtc_library, library))) {
    functions_->check(functions_->nvrtcVersion(&major_, &minor_), "nvrtcVersion");
    if (major_ < 12 || (major_ == 12 && minor_ < 4)) {
        throw UnsupportedError("nvrtcVersion", fmt::format("this is NVRTC {}; {}", version(),
                                                           nvrtc_library.how_to_get));
    }
}

std::string Nvrtc::version() const { return fmt::format("{}.{}", major_, minor_); }

std::vector<int> Nvrtc::architectures() const {
    int count = 0;
    functions_->check(functions_->nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> all(static_cast<std::size_t>(count));
    functions_->check(functions_->nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs");
    return all;
}

Nvrtc::Compiled Nvrtc::compile(NvrtcProgram const& program,
                               std::vector<std::string> const& options) const {
    Functions const& nvrtc = *functions_;
    std::vector<char const*> texts;
    std::vector<char const*> names;
    for (auto const& [name, text] : program.headers) {
        names.push_back(name.c_str());
        texts.push_back(text.c_str());
    }
    NvrtcHandle handle = nullptr;
    nvrtc.check(
        nvrtc.nvrtcCreateProgram(&handle, program.text.c_str(), program.name.c_str(),
                                 static_cast<int>(names.size()), texts.data(), names.data()),
        "nvrtcCreateProgram");
    std::unique_ptr<NvrtcHandle, decltype(nvrtc.nvrtcDestroyProgram)> const end(
        &handle, nvrtc.nvrtcDestroyProgram);
    auto const output = [&](auto const& size_of, auto const& get, std::string_view call) {
        return bytes_of(handle, size_of, get, [&](int result) { nvrtc.check(result, call); });
    };
    auto const log = [&] {
        return trimmed(
            output(nvrtc.nvrtcGetProgramLogSize, nvrtc.nvrtcGetProgramLog, "nvrtcGetProgramLog"));
    };
    std::vector<char const*> words;
    words.reserve(options.size());
    for (std::string const& each : options) words.push_back(each.c_str());
    int const result =
        nvrtc.nvrtcCompileProgram(handle, static_cast<int>(words.size()), words.data());
    if (result == nvrtc_compilation_failed) throw CompileError(log());
    if (result == nvrtc_invalid_option) {
        throw UsageError(
            fmt::format("NVRTC {} rejects these compiler options: {}", version(), log()));
    }
    nvrtc.check(result, "nvrtcCompileProgram");
    bool const lto = std::find(options.begin(), options.end(), "-dlto") != options.end();
    return {lto ? output(nvrtc.nvrtcGetLTOIRSize, nvrtc.nvrtcGetLTOIR, "nvrtcGetLTOIR")
                : output(nvrtc.nvrtcGetCUBINSize, nvrtc.nvrtcGetCUBIN, "nvrtcGetCUBIN"),
            log()};
}

namespace {

constexpr ToolkitLibrary jit_link_library{
    "libnvJitLink.so", "CARILLON_NVJITLINK",
    "functions in LTO-IR need nvJitLink of CUDA 12.4 or later: install the CUDA toolkit or its "
    "Python wheel nvidia-nvjitlink, or set CARILLON_NVJITLINK to the path of libnvJitLink.so"};

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

}  // namespace

std::string link_parts(std::filesystem::path const& library, std::string const& architecture,
                       std::vector<std::string> const& parts) {
    JitLinkFunctions const linker(library);
    LinkHandle handle = nullptr;
    auto const check = [&](int result) {
        if (result == 0) return;
        std::string log = "nvJitLink gave no reason";
        std::size_t size = 0;
        if (handle != nullptr && linker.log_size(handle, &size) == 0 && size > 1) {
            log = trimmed(bytes_of(handle, linker.log_size, linker.log, [](int) {}));
        }
        throw CompileError("nvJitLink: " + log);
    };
    std::string const target = "-arch=" + architecture;
    std::array<char const*, 2> options{target.c_str(), "-lto"};
    check(linker.create(&handle, options.size(), options.data()));
    std::unique_ptr<LinkHandle, decltype(linker.destroy)> const end(&handle, linker.destroy);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::string const name = fmt::format("part {}", i);  // in the log
        check(linker.add(handle, input_lto_ir, parts[i].data(), parts[i].size(), name.c_str()));
    }
    check(linker.complete(handle));
    return bytes_of(handle, linker.code_size, linker.code, check);
}

}  // namespace carillon::detail
