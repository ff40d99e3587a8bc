// SPDX-License-Identifier: Apache-2.0
#include "nvrtc/nvrtc.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <string_view>

#include "carillon/error.hpp"
#include "nvrtc/toolkit_library.hpp"
#include "os/process.hpp"

namespace carillon::detail {

namespace {

// The values of nvrtc.h, which building does not need.
using NvrtcHandle = void*;
constexpr int nvrtc_success = 0;
constexpr int nvrtc_invalid_option = 5;
constexpr int nvrtc_compilation_failed = 6;

constexpr ToolkitLibrary nvrtc_library{
    "libnvrtc.so", "CARILLON_NVRTC",
    "a handler's text is compiled by NVRTC of CUDA 12.4 or later: install the CUDA toolkit, or its "
    "Python wheel nvidia-cuda-nvrtc, and where it is not found set CARILLON_NVRTC to the path of "
    "libnvrtc.so"};

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

    // The functions of a library that stays open: otherwise the next handler would load it anew.
    static Functions const& of(void* library) {
        // Never destroyed: static objects may compile later.
        auto& loaded = PerProcess<Loaded>::get();
        std::lock_guard const lock(loaded.mutex);
        for (auto const& [known, functions] : loaded.all) {
            if (known == library) return *functions;
        }
        return *loaded.all.emplace_back(library, std::make_unique<Functions const>(library)).second;
    }

    struct Loaded {
        std::mutex mutex;
        std::vector<std::pair<void*, std::unique_ptr<Functions const>>> all;
    };
};

namespace {

// A program of NVRTC, which the destructor ends.
template <class Functions>
class OpenProgram {
   public:
    OpenProgram(Functions const& functions, NvrtcProgram const& program) : functions_(functions) {
        std::vector<char const*> texts;
        std::vector<char const*> names;
        for (auto const& [name, text] : program.headers) {
            names.push_back(name.c_str());
            texts.push_back(text.c_str());
        }
        functions_.check(functions_.nvrtcCreateProgram(
                             &handle_, program.text.c_str(), program.name.c_str(),
                             static_cast<int>(names.size()), texts.data(), names.data()),
                         "nvrtcCreateProgram");
    }
    OpenProgram(OpenProgram const&) = delete;
    OpenProgram& operator=(OpenProgram const&) = delete;
    ~OpenProgram() { functions_.nvrtcDestroyProgram(&handle_); }

    [[nodiscard]] int compile(std::vector<std::string> const& options) const {
        std::vector<char const*> words;
        words.reserve(options.size());
        for (std::string const& each : options) words.push_back(each.c_str());
        return functions_.nvrtcCompileProgram(handle_, static_cast<int>(words.size()),
                                              words.data());
    }
    [[nodiscard]] std::string log() const {
        std::size_t size = 0;
        functions_.check(functions_.nvrtcGetProgramLogSize(handle_, &size),
                         "nvrtcGetProgramLogSize");
        std::string text(size, '\0');
        functions_.check(functions_.nvrtcGetProgramLog(handle_, text.data()), "nvrtcGetProgramLog");
        text.resize(text.find_last_not_of(std::string_view("\0\n", 2)) + 1);
        return text;
    }
    [[nodiscard]] std::string cubin() const {
        return output(functions_.nvrtcGetCUBINSize, functions_.nvrtcGetCUBIN, "nvrtcGetCUBIN");
    }
    [[nodiscard]] std::string lto_ir() const {
        return output(functions_.nvrtcGetLTOIRSize, functions_.nvrtcGetLTOIR, "nvrtcGetLTOIR");
    }

   private:
    [[nodiscard]] std::string output(int (*size_of)(NvrtcHandle, std::size_t*),
                                     int (*get)(NvrtcHandle, char*), char const* call) const {
        std::size_t size = 0;
        functions_.check(size_of(handle_, &size), call);
        std::string bytes(size, '\0');
        functions_.check(get(handle_, bytes.data()), call);
        return bytes;
    }

    Functions const& functions_;
    NvrtcHandle handle_ = nullptr;
};

}  // namespace

Nvrtc::Nvrtc(std::filesystem::path const& library)
    : functions_(Functions::of(open_library(nvrtc_library, library))) {
    functions_.check(functions_.nvrtcVersion(&major_, &minor_), "nvrtcVersion");
    if (major_ < 12 || (major_ == 12 && minor_ < 4)) {
        throw UnsupportedError("nvrtcVersion", fmt::format("this is NVRTC {}; {}", version(),
                                                           nvrtc_library.how_to_get));
    }
}

std::string Nvrtc::version() const { return fmt::format("{}.{}", major_, minor_); }

std::vector<int> Nvrtc::architectures() const {
    int count = 0;
    functions_.check(functions_.nvrtcGetNumSupportedArchs(&count), "nvrtcGetNumSupportedArchs");
    std::vector<int> all(static_cast<std::size_t>(count));
    functions_.check(functions_.nvrtcGetSupportedArchs(all.data()), "nvrtcGetSupportedArchs");
    return all;
}

Nvrtc::Compiled Nvrtc::compile(NvrtcProgram const& program,
                               std::vector<std::string> const& options) const {
    OpenProgram const open(functions_, program);
    int const result = open.compile(options);
    if (result == nvrtc_compilation_failed) throw CompileError(open.log());
    if (result == nvrtc_invalid_option) {
        throw UsageError(fmt::format("NVRTC {} does not take these compiler options: {}", version(),
                                     open.log()));
    }
    functions_.check(result, "nvrtcCompileProgram");
    bool const lto = std::find(options.begin(), options.end(), "-dlto") != options.end();
    return {lto ? open.lto_ir() : open.cubin(), open.log()};
}

}  // namespace carillon::detail
