// SPDX-License-Identifier: Apache-2.0
// Starts a kernel that the caller wrote as a functor, on a GPU or on the emulated device, on chosen
// SMs where it matters, and watches it without ever blocking on it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "carillon/detail/host/block_handlers.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/make_program.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/kernel/contract.hpp"
#include "carillon/detail/kernel/pins.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/per_block.hpp"

namespace carillon {

using detail::PinTable;
namespace detail {
class Execution;
class KernelSupervisor;
struct Launcher;
}  // namespace detail

// A kernel that was started. Move-only; the destructor waits for at most a second and then leaves
// the kernel to itself, with the memory it may still touch.
class RunningKernel {
   public:
    RunningKernel() noexcept;  // none, as one that was moved from: it has finished
    RunningKernel(RunningKernel&&) noexcept;
    RunningKernel& operator=(RunningKernel&&) noexcept;
    RunningKernel(RunningKernel const&) = delete;
    RunningKernel& operator=(RunningKernel const&) = delete;
    ~RunningKernel();

    // Whether every block has returned. Throws CudaError, or what a handler threw on the
    // emulated device, if that is what ended it.
    [[nodiscard]] bool finished() const;
    // Waits for finished(), at most `timeout`; returns it.
    [[nodiscard]] bool wait(std::chrono::nanoseconds timeout) const;

   private:
    friend struct detail::Launcher;
    friend class detail::KernelSupervisor;
    RunningKernel(Device const& device, detail::Program const& program, unsigned blocks);
    // Waits for the kernel's end, at most so long, and leaves it to itself then. A line on stderr
    // says so if it is to.
    void leave(std::chrono::nanoseconds patience, bool says_so) noexcept;

    std::shared_ptr<detail::Backend> backend_;
    std::unique_ptr<detail::Execution> execution_;
    detail::Deadline start_by_{std::chrono::nanoseconds(0)};
};

namespace detail {

// What launch() does with a program.
struct Launcher {
    [[nodiscard]] static RunningKernel start(Device const& device, Program const& program,
                                             unsigned blocks) {
        return {device, program, blocks};
    }
};

}  // namespace detail

// How many blocks, and how many threads in each. On the emulated device one thread stands for all
// of a block, except in a test (testing.hpp): a body asks block.hpp which thread of how many it is.
struct LaunchShape {
    unsigned blocks = 1;
    unsigned threads = 1;  // at most 1024
    // How many blocks stay, the others return at once and need no room of their own; 0 for all.
    unsigned lasting = 0;
    // How long the launch may take. On a GPU it may wait for kernels that run there.
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
};

// Of a role that does not care where it runs.
inline constexpr std::uint32_t any_sm = detail::PinTable::anywhere;

// Which SM each role of one launch wants. Neither copied nor moved.
class Pins {
   public:
    // As many roles as blocks, wherever they run.
    explicit Pins(unsigned blocks) : roles_(blocks), blocks_(blocks) {}
    // Role i on sms[i], which may be any_sm. On the emulated device, which has none, any block
    // takes any role. Throws what Device::allocate throws.
    Pins(Device const& device, std::span<std::uint32_t const> sms);

    Pins(Pins const&) = delete;
    Pins& operator=(Pins const&) = delete;

    // How many blocks have work.
    [[nodiscard]] unsigned roles() const { return roles_; }
    // How many blocks to launch, so that some land on every SM.
    [[nodiscard]] unsigned blocks() const { return blocks_; }
    // The roles as the blocks see them.
    [[nodiscard]] PinTable device_view() const;
    // For a launch, in which each role on an SM is taken once. Throws UsageError the second time.
    void take() const;

   private:
    unsigned roles_;
    unsigned blocks_;
    Memory memory_;  // may go while the kernel lives: the free waits for its end
    mutable std::atomic<bool> taken_{false};
};

namespace detail {
inline namespace CARILLON_TOOLCHAIN {

// What launch() and launch_pinned() do, also with the library's own bodies, which hold a handler.
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
// trivially copyable, at most handler_bytes, and its operator() is CARILLON_HD. Of several blocks
// it has no end that is given out once, unless one block owns it (OwnedByBlock). On a GPU every
// kernel of the program is loaded first, and the launch goes to a non-blocking stream of its own.
// Throws ResidencyError when the blocks cannot all be resident; UsageError for a GPU in a
// translation unit that nvcc did not compile, for a shape that no device has, and for a kernel that
// needs a larger stack than the threads of the GPU have while another one lives there
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

// The same with a body for each block, which `make(block)` makes, at once and here: for ends of
// rings and mailboxes, each of which one block uses. What it makes may be larger than a kernel's
// parameters. `make` is not called for a shape that is refused.
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

// The same with blocks of one thread, or of `threads`.
template <class Body>
[[nodiscard]] RunningKernel launch(Device const& device, unsigned blocks, Body body,
                                   unsigned threads = 1) {
    return launch(device, LaunchShape{blocks, threads}, body);
}

// Starts `body` in the roles of `pins`. A role is no block: where several have work, `body` has no
// ends (launch), and no block owns one. Throws as launch(), and UsageError for roles on SMs that a
// launch has had.
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

// The same with a body for each role, which `make(role)` makes.
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
