// SPDX-License-Identifier: Apache-2.0
// Compiles a handler given as CUDA C++ text, for programs that have no nvcc at hand: NVRTC compiles
// it at run time. Its messages are bytes (bytes.hpp). The text defines
//
//   struct Tick { double bid, ask; };
//   struct Quote { double mid; };
//   struct Handler {
//       Quote operator()(Tick const& tick) { return {(tick.bid + tick.ask) / 2}; }
//   };
//
// A `Handler` may have what PersistentKernel allows: state, `threads`, `out_of_line` and
// `Commands`. Functions without __host__ or __device__ are device functions. The text may include
// the library's device headers, and the parts of <cstdint>, <cstddef>, <cstring>, <type_traits>,
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

// The options of compile_handler().
struct HandlerOptions {
    // Text before the handler, such as its messages' structs. Its lines are not counted.
    std::string before{};
    // Folders of files that the text includes. With any folder, or if the text or the compiler
    // options may include other files, every call compiles, because the files may have changed.
    std::vector<std::filesystem::path> include_folders{};
    std::vector<std::string> compiler_options{};  // NVRTC's, such as "--use_fast_math"
    // The folder with carillon/. Empty: $CARILLON_HEADERS, or the folder where the library was
    // installed or built.
    std::filesystem::path headers{};
    // NVRTC's file. Empty: $CARILLON_NVRTC, or the libnvrtc that the loader or a toolkit has.
    std::filesystem::path nvrtc{};
    // LTO-IR of functions that the text declares as `extern "C" __device__`, from other NVIDIA
    // compilers, such as Numba's in Python. nvJitLink links them into the kernel.
    std::vector<std::string> lto_ir{};
    // nvJitLink's file. Empty: $CARILLON_NVJITLINK, or the one that the loader or a toolkit has.
    std::filesystem::path nvjitlink{};
    // The folder that keeps machine code for the next run. Empty: carillon/ in $XDG_CACHE_HOME or
    // in ~/.cache.
    std::filesystem::path cache{};
    bool keep = true;  // false: not in that folder, only for other calls of this process
};

// A handler's machine code for GPUs of one compute capability. Copies share it.
class CompiledHandler {
   public:
    [[nodiscard]] BytesType const& request() const;
    [[nodiscard]] BytesType const& reply() const;
    [[nodiscard]] int compute_capability() const;  // a number such as 90
    [[nodiscard]] unsigned threads() const;        // the threads of each block
    // The compiler's warnings, with line numbers of the text.
    [[nodiscard]] std::string const& log() const;
    // Whether the code was found in a file or in this process instead of compiled.
    [[nodiscard]] bool was_cached() const;
    [[nodiscard]] std::span<std::byte const> machine_code() const;  // a cubin

   private:
    friend class detail::HandlerCode;
    explicit CompiledHandler(std::shared_ptr<detail::HandlerCode> code);

    std::shared_ptr<detail::HandlerCode> code_;
};

// Compiles for a GPU and loads the machine code there. No kernel may run on the GPU: compile
// handlers first, then start kernels. Any thread may call it. Throws CompileError for the text,
// also if its request or reply has another size; UsageError for the sizes, for options unknown to
// NVRTC, and while a kernel of Carillon lives on the GPU; UnsupportedError on the emulated device,
// and without NVRTC, headers, nvJitLink for LTO-IR, or an NVRTC that knows the GPU; CudaError,
// SystemError.
[[nodiscard]] CompiledHandler compile_handler(Device const& device, std::string_view text,
                                              BytesType const& request, BytesType const& reply,
                                              HandlerOptions const& options = {});
// Compiles for GPUs of a compute capability, such as 90; needs no GPU. The first BytesKernel that
// uses the handler loads it.
[[nodiscard]] CompiledHandler compile_handler(int compute_capability, std::string_view text,
                                              BytesType const& request, BytesType const& reply,
                                              HandlerOptions const& options = {});

}  // namespace carillon
