// SPDX-License-Identifier: Apache-2.0
// launch() and `RunningKernel`, for kernels of your own: start a functor as a kernel, on a GPU or
// the emulated device, optionally on chosen SMs, and watch it without blocking on it.
#pragma once

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <type_traits>

#include "carillon/block.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/ends_of_blocks.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/detail/kernel/handler_messages.hpp"
#include "carillon/detail/kernel/pins.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/device.hpp"  // IWYU pragma: export
#include "carillon/error.hpp"

// The compiler of this translation unit. Functions that end in a launch are in an inline namespace
// of this name: a .cpp and a .cu of one program must not define one function differently.
#if CARILLON_DEVICE_CODE
#include <cuda_runtime_api.h>
#define CARILLON_TOOLCHAIN with_nvcc
#else
#define CARILLON_TOOLCHAIN without_nvcc
#endif

namespace carillon {

using detail::PinTable;
namespace detail {
class Execution;
class KernelSupervisor;
struct Launcher;
}  // namespace detail

// A started kernel. Move-only. The destructor waits for at most a second, and then abandons the
// kernel with the memory that it may still use.
class RunningKernel {
   public:
    RunningKernel() noexcept;  // no kernel, as after a move: finished
    RunningKernel(RunningKernel&&) noexcept;
    RunningKernel& operator=(RunningKernel&&) noexcept;
    ~RunningKernel();

    // Whether every block has returned. Throws the error that ended the kernel: CudaError, or on
    // the emulated device the exception of a handler.
    [[nodiscard]] bool finished() const;
    // Waits until the kernel has finished, at most for `timeout`; returns finished().
    [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) const;

   private:
    friend struct detail::Launcher;
    friend class detail::KernelSupervisor;
    RunningKernel(Device const& device, detail::Program const& program, unsigned blocks);
    // Waits for the kernel's end, at most for `patience`, and then abandons it. With `says_so` a
    // line on stderr reports that.
    void leave(std::chrono::nanoseconds patience, bool says_so) noexcept;

    std::shared_ptr<detail::Backend> backend_;
    std::unique_ptr<detail::Execution> execution_;
    detail::Deadline start_by_{std::chrono::nanoseconds(0)};
};

namespace detail {

// Lets launch() start a program.
struct Launcher {
    [[nodiscard]] static RunningKernel start(Device const& device, Program const& program,
                                             unsigned blocks) {
        return {device, program, blocks};
    }
};

}  // namespace detail

// Types that can be a handler.
template <class T>
concept HandlerLike = requires {
    &T::operator();
}
|| requires { typename T::Commands; }
|| requires {
    typename T::Request;
    typename T::Reply;
};

// Makes the handler of block number `block`, as make(block).
template <class Make, class Handler>
concept MakesHandlers =
    std::invocable<Make&, unsigned> && std::same_as<std::invoke_result_t<Make&, unsigned>, Handler>;

// A handler, which all blocks copy, or a function that makes one for each.
template <class Source, class Handler>
concept HandlerSource = std::convertible_to<Source, Handler> || MakesHandlers<Source, Handler>;

// The type of the handler that `Source` is or makes.
template <class Source>
struct HandlerFrom {
    using Type = Source;
};
template <std::invocable<unsigned> Source>
requires HandlerLike<std::invoke_result_t<Source&, unsigned>>
struct HandlerFrom<Source> {
    using Type = std::invoke_result_t<Source&, unsigned>;
};

// Makes the body of a kernel for block number `block`, as make(block).
template <class Make>
concept MakesBodies = requires(Make& make, unsigned block) {
    make(block)(block);
};

// The numbers of blocks and of threads per block. On the emulated device one thread stands for all
// threads of a block, except in a test (testing.hpp). block::thread_rank() is a thread's number.
struct LaunchShape {
    unsigned blocks = 1;
    unsigned threads = 1;  // at most 1024
    // The number of blocks that stay resident; the others return at once and need no room. 0: all.
    unsigned lasting = 0;
    // Timeout of the launch. On a GPU it may wait for kernels that run there.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
};

// In Pins: the role may run on any SM.
inline constexpr std::uint32_t any_sm = detail::PinTable::anywhere;

// The SM that each role of one launch wants, for launch_pinned(). Neither copied nor moved.
class Pins {
   public:
    // Has one role per block, on any SM.
    explicit Pins(unsigned blocks) : roles_(blocks), blocks_(blocks) {}
    // Role i runs on sms[i], which may be any_sm. The emulated device has no SMs: any block takes
    // any role. Throws what Device::allocate throws.
    Pins(Device const& device, std::span<std::uint32_t const> sms);

    // The number of roles: of blocks with work.
    [[nodiscard]] unsigned roles() const { return roles_; }
    // The number of blocks to launch, enough for some to run on every SM.
    [[nodiscard]] unsigned blocks() const { return blocks_; }
    // The roles, for the blocks.
    [[nodiscard]] PinTable device_view() const;
    // Takes the roles for one launch. If they have SMs, throws UsageError the second time.
    void take() const;

   private:
    unsigned roles_;
    unsigned blocks_;
    Memory memory_;  // may be destroyed while the kernel lives: the free waits for its end
    mutable std::atomic<bool> taken_{false};
};

namespace detail {

// A body for a launch whose blocks have one body each. The bodies stay until the kernel ends.
template <class Body>
struct BodyOfBlock {
    Body const* of_block;

    CARILLON_HD void operator()(unsigned block) const {
        Body own = of_block[block];
        check_device_call<void, unsigned>(own);
        own(block);
    }
};

// Throws UsageError for a shape that no device supports, and ResidencyError for more blocks than
// fit on this device beside its running kernels. `lasting`: see LaunchShape.
void require_launch(Device const& device, unsigned blocks, unsigned threads = 1,
                    unsigned lasting = 0);

// Calls `make` for each block, and stores the results in device memory. The caller frees it after
// the blocks have begun: a device's memory is not freed while a kernel lives. Throws UsageError if
// two blocks have the same end; what Device::allocate throws, and what `make` throws.
template <class Made, class Make>
[[nodiscard]] Memory make_for_each_block(Device const& device, unsigned blocks, Make& make,
                                         BlockNumbers numbers) {
    static_assert(std::is_trivially_copyable_v<Made>,
                  "carillon: the functor of a block must be trivially copyable");
    static_assert(std::is_class_v<Made>,
                  "carillon: the functor of a block must be a class with an operator(): a GPU "
                  "cannot call a host function");
    Memory memory = device.allocate(blocks * sizeof(Made));
    EndsOfBlocks ends(numbers);
    for (unsigned block = 0; block < blocks; ++block) {
        Made own = in_callback([&] { return make(block); });
        ends.add(block, &own, sizeof(own));
        std::memcpy(static_cast<std::byte*>(memory.host_ptr()) + block * sizeof(own), &own,
                    sizeof(own));
    }
    memory.flush(0, memory.size());
    return memory;
}

#if CARILLON_DEVICE_CODE
template <class Body>
__global__ void body_kernel(Body body) {
    body(blockIdx.x);
}

template <class Body>
__global__ void __launch_bounds__(most_threads_of<Body>) bounded_kernel(Body body) {
    body(blockIdx.x);
}

template <class Body>
void const* kernel_of() {
    if constexpr (most_threads_of<Body> != 0) {
        return reinterpret_cast<void const*>(&bounded_kernel<Body>);
    } else {
        return reinterpret_cast<void const*>(&body_kernel<Body>);
    }
}

template <class Body>
void* cuda_function() {
    cudaFunction_t function = nullptr;
    cudaError_t const result = cudaGetFuncBySymbol(&function, kernel_of<Body>());
    if (result != cudaSuccess) {
        throw CudaError("cudaGetFuncBySymbol", static_cast<int>(result), cudaGetErrorName(result));
    }
    return function;
}

template <class Body>
inline KnownKernel const known_kernel{&cuda_function<Body>};
#endif

inline namespace CARILLON_TOOLCHAIN {

// Makes a kernel of a functor: for the GPU if nvcc compiles it, and for threads of the CPU.
template <class Body>
Program make_program(Body const& body, unsigned threads, unsigned lasting = 0) {
    auto const argument = std::make_shared<Body>(body);
    Program program;
    program.run_block = [argument](unsigned block) {
        block::emulate(block);
        Body copy = *argument;
        copy(block);
    };
    program.argument = argument;
    program.threads = threads;
    program.lasting = lasting;
#if CARILLON_DEVICE_CODE
    program.kernel = &known_kernel<Body>;
#endif
    return program;
}

// For launch() and launch_pinned(), also with the library's own bodies, which contain a handler.
template <class Body>
[[nodiscard]] RunningKernel start_kernel(Device const& device, LaunchShape shape, Body body) {
    auto program = make_program(body, shape.threads, shape.lasting);
    program.start_timeout = shape.start_timeout;
    return Launcher::start(device, program, shape.blocks);
}
template <class Body>
[[nodiscard]] RunningKernel start_pinned(Device const& device, Pins const& pins, Body body,
                                         std::chrono::nanoseconds start_timeout) {
    pins.take();
    LaunchShape const shape{
        .blocks = pins.blocks(), .lasting = pins.roles(), .start_timeout = start_timeout};
    return start_kernel(device, shape, PinnedBody<Body>{pins.device_view(), body});
}

}  // namespace CARILLON_TOOLCHAIN
}  // namespace detail

inline namespace CARILLON_TOOLCHAIN {

// Starts `shape.blocks` blocks; every thread of block i runs a copy of `body` as body(i). `body` is
// trivially copyable, at most handler_bytes, and its operator() is CARILLON_HD. With several blocks
// it must not contain an end that is given out once, unless one block owns it (OwnedByBlock). On a
// GPU every kernel of the program is loaded first, and the launch uses its own non-blocking stream.
// Throws ResidencyError if the blocks cannot all be resident; UsageError for a GPU in a translation
// unit that nvcc did not compile, for a shape that no device supports, and for a kernel that needs
// a larger stack than the GPU's threads have while another kernel lives there
// (DeviceOptions::stack_bytes); TimeoutError; CudaError.
template <class Body>
[[nodiscard]] RunningKernel launch(Device const& device, LaunchShape shape, Body body) {
    detail::check_body<Body>();
    return detail::in_call("launch", [&] {
        if (shape.blocks != 0) {
            detail::refuse_copied_ends(std::addressof(body), sizeof(body), shape.blocks,
                                       detail::BlockNumbers::known);
        }
        return detail::start_kernel(device, shape, body);
    });
}

// Starts blocks with a body each, for ends that one block uses: calls make(block) for all blocks
// before the launch, unless it refuses the shape. The bodies may be larger than a kernel's
// parameters.
template <class Make>
requires MakesBodies<Make>
[[nodiscard]] RunningKernel launch(Device const& device, LaunchShape shape, Make make) {
    using Body = std::invoke_result_t<Make&, unsigned>;
    return detail::in_call("launch", [&] {
        detail::require_launch(device, shape.blocks, shape.threads, shape.lasting);
        Memory const bodies = detail::make_for_each_block<Body>(device, shape.blocks, make,
                                                                detail::BlockNumbers::known);
        return launch(device, shape,
                      detail::BodyOfBlock<Body>{static_cast<Body const*>(bodies.device_ptr())});
    });
}

// Starts blocks of `threads` threads, by default one.
template <class Body>
[[nodiscard]] RunningKernel launch(Device const& device, unsigned blocks, Body body,
                                   unsigned threads = 1) {
    return launch(device, LaunchShape{blocks, threads}, body);
}

// Starts `body` in the roles of `pins`. A role is not a block: if several roles have work, `body`
// must not contain ends, even owned by a block. Throws what launch() throws, and UsageError if a
// launch has already taken the roles and they have SMs.
template <class Body>
[[nodiscard]] RunningKernel launch_pinned(
    Device const& device, Pins const& pins, Body body,
    std::chrono::nanoseconds start_timeout = LaunchShape().start_timeout) {
    detail::check_body<Body>();
    return detail::in_call("launch_pinned", [&] {
        if (pins.roles() != 0) {
            detail::refuse_copied_ends(std::addressof(body), sizeof(body), pins.roles());
        }
        return detail::start_pinned(device, pins, body, start_timeout);
    });
}

// Starts roles with a body each, which make(role) makes.
template <class Make>
requires MakesBodies<Make>
[[nodiscard]] RunningKernel launch_pinned(
    Device const& device, Pins const& pins, Make make,
    std::chrono::nanoseconds start_timeout = LaunchShape().start_timeout) {
    using Body = std::invoke_result_t<Make&, unsigned>;
    return detail::in_call("launch_pinned", [&] {
        detail::require_launch(device, pins.roles());
        Memory const bodies = detail::make_for_each_block<Body>(device, pins.roles(), make,
                                                                detail::BlockNumbers::unknown);
        return launch_pinned(
            device, pins, detail::BodyOfBlock<Body>{static_cast<Body const*>(bodies.device_ptr())},
            start_timeout);
    });
}

}  // namespace CARILLON_TOOLCHAIN

}  // namespace carillon
