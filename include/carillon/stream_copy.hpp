// SPDX-License-Identifier: Apache-2.0
// How the CPU copies to and from memory that is not cached: the parts of copy.hpp without a Memory.
#pragma once

#include <cstddef>

#include "carillon/detail/machine/x86.hpp"

namespace carillon {

using detail::StoreKind;

// The store that copies fastest on this CPU. Not the one that publishes fastest: a copy may arrive
// in pieces, so nothing is paid for a line that arrives whole.
[[nodiscard]] StoreKind best_copy_stores();

// The stores of copy_to_device() without its checks, and without the fence that makes them leave:
// for who copies several ranges and fences once. The CPU must support the kind.
void stream_copy(StoreKind kind, void* to, void const* from, std::size_t size) noexcept;
// The fence: what this thread has stored before leaves the CPU before what it stores afterwards.
inline void store_fence() noexcept { detail::X86::store_fence(); }
// The loads of copy_from_device() without its checks, from wherever the bytes lie to ordinary
// memory: as they were when the call began, or newer. Whole lines are loaded, of 64 bytes.
void stream_load(void* to, void const* from, std::size_t size) noexcept;

}  // namespace carillon
