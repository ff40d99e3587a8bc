// SPDX-License-Identifier: Apache-2.0
// Copies by the CPU to and from uncached memory: the parts of copy.hpp that need no Memory.
#pragma once

#include <cstddef>

#include "carillon/detail/machine/x86.hpp"

namespace carillon {

using detail::StoreKind;

// The fastest stores for copies on this CPU. They may differ from the fastest for publishing: a
// copy may arrive in pieces, so it need not pay for lines that arrive whole.
[[nodiscard]] StoreKind best_copy_stores();

// Stores like copy_to_device(), without its checks and its fence, for callers that copy several
// ranges and fence once. The CPU must support the kind.
void stream_copy(StoreKind kind, void* to, void const* from, std::size_t size) noexcept;
// Issues the fence: this thread's earlier stores leave the CPU before its later ones.
inline void store_fence() noexcept { detail::X86::store_fence(); }
// Loads like copy_from_device(), without its checks, from any memory to ordinary memory. The bytes
// are those at the start of the call, or newer. It loads whole lines of 64 bytes.
void stream_load(void* to, void const* from, std::size_t size) noexcept;

}  // namespace carillon
