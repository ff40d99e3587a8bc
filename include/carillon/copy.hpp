// SPDX-License-Identifier: Apache-2.0
// Copies by the CPU between its own memory and mapped device memory, of any alignment and length.
//
// Towards the device they are fast: whole lines by streaming stores; of many bytes DeviceWriter,
// which has the device fetch them, is faster. From the device they are not: the CPU waits for each
// line it loads across the bus; DeviceReader lets the device send it.
#pragma once

#include <cstddef>
#include <span>

#include "carillon/detail/machine/x86.hpp"
#include "carillon/memory.hpp"

namespace carillon {

using detail::StoreKind;

// The store that copies fastest on this CPU. Not the one that publishes fastest: a copy may arrive
// in pieces, so nothing is paid for a line that arrives whole.
[[nodiscard]] StoreKind best_copy_stores();

// Copies `from` to byte `offset` on of `to`. When it returns the bytes are *posted*: on their way,
// in no order, held back by nothing on this side. They are *visible* to whoever takes a message
// that was published after the copy with OutOfLine::written: there is no need to wait.
// `kind` is for tests and measurements. Throws UsageError for a range outside the memory and for a
// null pointer, UnsupportedError for a kind that this CPU lacks, VulkanError (non-coherent memory
// only).
void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from);
void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                    StoreKind kind);

// Copies from byte `offset` on of `from`, by streaming loads, a line at a time. What this thread
// has written there before is read back. Throws UsageError for a range outside the memory and for a
// null pointer, VulkanError (non-coherent memory only).
void copy_from_device(std::span<std::byte> to, Memory const& from, std::size_t offset);

// The same stores without the checks, and without the fence that makes them leave: for who copies
// several ranges and fences once. The CPU must support the kind.
void stream_copy(StoreKind kind, void* to, void const* from, std::size_t size) noexcept;
// The fence: what this thread has stored before leaves the CPU before what it stores afterwards.
inline void store_fence() noexcept { detail::X86::store_fence(); }
// The loads of copy_from_device without the checks, from wherever the bytes lie to ordinary memory:
// as they were when the call began, or newer. Whole lines are loaded, of 64 bytes.
void stream_load(void* to, void const* from, std::size_t size) noexcept;

}  // namespace carillon
