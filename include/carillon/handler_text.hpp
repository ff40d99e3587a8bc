// SPDX-License-Identifier: Apache-2.0
// A handler that a program gives as CUDA C++ text, which NVRTC compiles at run time. It needs no
// nvcc, and its messages are bytes (bytes.hpp). The text defines
//
//   struct Tick { double bid, ask; };
//   struct Quote { double mid; };
//   struct Handler {
//       Quote operator()(Tick const& tick) { return {(tick.bid + tick.ask) / 2}; }
//   };
//
// A `Handler` has what it can have for PersistentKernel: state, `threads`, `out_of_line` and
// `Commands`. Functions without __host__ or __device__ are the device's. The text may include the
// library's device headers, and the parts of <cstdint>, <cstddef>, <cstring>, <type_traits>,
// <concepts> and <utility> that nvrtc_std.hpp has.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/device.hpp"

namespace carillon {
namespace detail {
class HandlerCode;
}  // namespace detail

struct HandlerOptions {
    // Text before the handler's, such as the structs of its messages. Its lines are not counted.
    std::string before{};
    // Folders of files that the text includes. With any folder, or if the text or the compiler
    // options may include files otherwise, every call compiles: the files may differ.
    std::vector<std::filesystem::path> include_folders{};
    std::vector<std::string> compiler_options{};  // NVRTC's, such as "--use_fast_math"
    // The folder with carillon/. Empty: $CARILLON_HEADERS, or the folder where the library was
    // installed or built.
    std::filesystem::path headers{};
    // NVRTC's file. Empty: $CARILLON_NVRTC, or the libnvrtc that the loader or a toolkit has.
    std::filesystem::path nvrtc{};
    // LTO-IR of functions that the text declares as `extern "C" __device__`, made by other
    // compilers of NVIDIA, such as Python's Numba. nvJitLink links them into the kernel.
    std::vector<std::string> lto_ir{};
    // nvJitLink's file. Empty: $CARILLON_NVJITLINK, or the one that the loader or a toolkit has.
    std::filesystem::path nvjitlink{};
    // The folder in which machine code is kept for the next run. Empty: carillon/ in
    // $XDG_CACHE_HOME or in ~/.cache.
    std::filesystem::path cache{};
    bool keep = true;  // false: not in that folder; other calls of this process still find it
};

// Machine code of a handler, for GPUs of one compute capability. Copies share it.
class CompiledHandler {
   public:
    [[nodiscard]] BytesType const& request() const;
    [[nodiscard]] BytesType const& reply() const;
    [[nodiscard]] int compute_capability() const;  // such as 90
    [[nodiscard]] unsigned threads() const;        // of each block
    // The compiler's warnings, with line numbers of the text.
    [[nodiscard]] std::string const& log() const;
    // Whether the code was found in a file or in this process, and not compiled.
    [[nodiscard]] bool was_cached() const;
    [[nodiscard]] std::span<std::byte const> machine_code() const;  // a cubin

   private:
    friend class detail::HandlerCode;
    explicit CompiledHandler(std::shared_ptr<detail::HandlerCode> code);

    std::shared_ptr<detail::HandlerCode> code_;
};

// Compiles for a GPU and loads the machine code there. This needs a GPU on which no kernel runs:
// compile handlers first, then start kernels. From any thread. Throws CompileError for the text,
// also if request or reply have other sizes in the text; UsageError for the sizes, for options that
// NVRTC does not have, and while a kernel of Carillon lives on the GPU; UnsupportedError on the
// emulated device, and without NVRTC, headers, nvJitLink for LTO-IR, or an NVRTC that knows the
// GPU; CudaError, SystemError.
[[nodiscard]] CompiledHandler compile_handler(Device const& device, std::string_view text,
                                              BytesType const& request, BytesType const& reply,
                                              HandlerOptions const& options = {});
// Compiles for GPUs of a compute capability, such as 90, without a GPU. The first BytesKernel that
// takes the handler loads it.
[[nodiscard]] CompiledHandler compile_handler(int compute_capability, std::string_view text,
                                              BytesType const& request, BytesType const& reply,
                                              HandlerOptions const& options = {});

}  // namespace carillon
