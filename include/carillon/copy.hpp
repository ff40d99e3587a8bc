// SPDX-License-Identifier: Apache-2.0
// Copies by the CPU between its own memory and mapped device memory, of any alignment and length.
//
// Towards the device the copies are fast: whole lines by streaming stores. For many bytes
// DeviceWriter is faster, which has the device fetch them. From the device they are slow: the CPU
// waits for each line that it loads across the bus. DeviceReader lets the device send the bytes.
#pragma once

#include <cstddef>
#include <span>

#include "carillon/memory.hpp"
#include "carillon/stream_copy.hpp"

namespace carillon {

// Copies `from` to byte `offset` on of `to`. When it returns the bytes are *posted*: on their way,
// in no order, held back by nothing on this side. They are *visible* to the reader of a message
// that was published after the copy with OutOfLine::written: there is no need to wait. `kind` is
// for tests and measurements. Throws UsageError for a range outside the memory and for a null
// pointer, UnsupportedError for a kind that this CPU lacks, VulkanError (non-coherent memory only).
void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                    StoreKind kind = best_copy_stores());

// Copies from byte `offset` on of `from`, by streaming loads, a line at a time. It sees this
// thread's earlier writes there. Throws UsageError for a range outside the memory and for a null
// pointer, VulkanError (non-coherent memory only).
void copy_from_device(std::span<std::byte> to, Memory const& from, std::size_t offset);

}  // namespace carillon
