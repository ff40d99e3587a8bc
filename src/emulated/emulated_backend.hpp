// SPDX-License-Identifier: Apache-2.0
// Opens the emulated device, for src/devices.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>

#include "carillon/detail/kernel/program.hpp"
#include "carillon/device.hpp"
#include "device/backend.hpp"

namespace carillon::detail {

// The most blocks of the emulated device that live at once, in place of a GPU's occupancy. Our
// choice: enough for tests of many blocks, few enough threads for a laptop.
inline constexpr unsigned emulated_resident_blocks = 64;

// Memory from a memfd, or from Vulkan's CPU driver.
enum class EmulatedMemory : bool { memfd, vulkan };

// Throws UnsupportedError, VulkanError.
[[nodiscard]] std::shared_ptr<Backend> open_emulated(EmulatedMemory memory,
                                                     DeviceOptions const& options);

// Registers memory of the caller until the allocation goes. The emulated device's threads use the
// caller's addresses. Throws UsageError if some of the bytes are registered already: CUDA registers
// none twice.
[[nodiscard]] std::unique_ptr<Allocation> register_range(std::span<std::byte> bytes);

// Calls `run_block(block)` in each of `threads` threads.
using BlockRunner = std::function<void(unsigned threads, unsigned block,
                                       std::function<void(unsigned)> const& run_block)>;

// For kernels that start from now on; nullptr: one thread runs a block.
void set_block_runner(BlockRunner runner);

// The function that runs a block, for a program that starts now.
[[nodiscard]] std::function<void(unsigned)> block_of(Program const& program);

}  // namespace carillon::detail
