// SPDX-License-Identifier: Apache-2.0
// A handler that a program gives as text, in CUDA C++, and that NVRTC compiles while the program
// runs: it needs no nvcc, and its messages are bytes (bytes.hpp). The text defines
//
//   struct Tick { double bid, ask; };
//   struct Quote { double mid; };
//   struct Handler {
//       Quote operator()(Tick const& tick) { return {(tick.bid + tick.ask) / 2}; }
//   };
//
// A `Handler` is what it is for PersistentKernel: it may keep state, and have `threads`,
// `out_of_line` and `Commands`. What has no __host__ or __device__ is the device's. The text may
// include the library's device headers, and of the standard library what <cstdint>, <cstddef>,
// <cstring>, <type_traits>, <concepts> and <utility> have in nvrtc_std.hpp.
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
    // Text that goes before the handler's, as the structs of its messages; its lines are not
    // counted.
    std::string before{};
    // Folders of what the text includes. With any, and where the text or the compiler options may
    // include files otherwise, it is compiled each time: what is in them is not known.
    std::vector<std::filesystem::path> include_folders{};
    std::vector<std::string> compiler_options{};  // NVRTC's, as "--use_fast_math"
    // The folder with carillon/. Empty: $CARILLON_HEADERS, or where the library has been installed
    // or built.
    std::filesystem::path headers{};
    // NVRTC's file. Empty: $CARILLON_NVRTC, or where the loader or a toolkit has libnvrtc.
    std::filesystem::path nvrtc{};
    // LTO-IR of functions that the text declares, `extern "C" __device__`, as other compilers of
    // NVIDIA's make it: Numba's, of Python. nvJitLink makes them a part of the kernel.
    std::vector<std::string> lto_ir{};
    // nvJitLink's file. Empty: $CARILLON_NVJITLINK, or as of NVRTC.
    std::filesystem::path nvjitlink{};
    // Where machine code is kept for the next run. Empty: carillon/ in $XDG_CACHE_HOME, or in
    // ~/.cache.
    std::filesystem::path cache{};
    bool keep = true;  // false: not there; this process's other calls find it all the same
};

// Machine code of a handler, for GPUs of one compute capability. Copies share it.
class CompiledHandler {
   public:
    [[nodiscard]] BytesType const& request() const;
    [[nodiscard]] BytesType const& reply() const;
    [[nodiscard]] int compute_capability() const;  // as 90
    [[nodiscard]] unsigned threads() const;        // of each block
    // What the compiler said beside it: warnings, with the lines of the text.
    [[nodiscard]] std::string const& log() const;
    // Whether it was found and not compiled: in a file, or in this process.
    [[nodiscard]] bool was_cached() const;
    [[nodiscard]] std::span<std::byte const> machine_code() const;  // a cubin

   private:
    friend class detail::HandlerCode;
    explicit CompiledHandler(std::shared_ptr<detail::HandlerCode> code);

    std::shared_ptr<detail::HandlerCode> code_;
};

// Compiles for a GPU and loads the machine code there, which can be done only while no kernel runs
// on it: handlers come first, then kernels. From any thread. Throws CompileError for the text, also
// where request or reply have other sizes there; UsageError for the sizes, for options that NVRTC
// does not have, and while a kernel of Carillon's lives on the GPU; UnsupportedError on the
// emulated device, where there is no NVRTC, no headers, no nvJitLink for LTO-IR, or an NVRTC that
// does not know the GPU; CudaError, SystemError.
[[nodiscard]] CompiledHandler compile_handler(Device const& device, std::string_view text,
                                              BytesType const& request, BytesType const& reply,
                                              HandlerOptions const& options = {});
// The same for GPUs of a compute capability, as 90, without one: it is loaded by the first
// BytesKernel that takes it.
[[nodiscard]] CompiledHandler compile_handler(int compute_capability, std::string_view text,
                                              BytesType const& request, BytesType const& reply,
                                              HandlerOptions const& options = {});

}  // namespace carillon
