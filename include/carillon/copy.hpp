// SPDX-License-Identifier: Apache-2.0
// Copies by the CPU between its own memory and mapped device memory, of any alignment and length.
//
// Copies to the device are fast: the CPU stores whole lines by streaming stores. For many bytes
// `DeviceWriter` is faster, which has the device fetch them. Copies from the device are slow: the
// CPU waits for each line that it loads. With `DeviceReader` the device sends the bytes.
#pragma once

#include <cstddef>
#include <span>

#include "carillon/memory.hpp"
#include "carillon/stream_copy.hpp"

namespace carillon {

// Copies `from` to `to`, from byte `offset` on. When it returns, the bytes are *posted*: they are
// on their way, in no order, and nothing on the CPU's side holds them back. They are *visible* to
// the reader of a message that is published after the copy with OutOfLine::written, without any
// wait. `kind` is for tests and measurements. Throws UsageError for a range outside the memory and
// for a null pointer, UnsupportedError for a kind that this CPU lacks, VulkanError (non-coherent
// memory only).
void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                    StoreKind kind = best_copy_stores());

// Copies bytes of `from`, from byte `offset` on, by streaming loads of a line each. It sees this
// thread's earlier writes there. Throws UsageError for a range outside the memory and for a null
// pointer, VulkanError (non-coherent memory only).
void copy_from_device(std::span<std::byte> to, Memory const& from, std::size_t offset);

}  // namespace carillon
