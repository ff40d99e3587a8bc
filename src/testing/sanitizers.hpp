// SPDX-License-Identifier: Apache-2.0
// Tells the sanitizers about fibers. It detects a program's sanitizers at run time: this library
// may be built without the sanitizer of a user's test.
#pragma once

#include <cstddef>

namespace carillon::detail {

// Tell the address sanitizer of every change of stack: before it, and on the new stack after it.
// `save` gets the state of the old stack, nullptr if that is left for good.
void leaving_stack(void** save, void const* to, std::size_t size);
void arrived_on_stack(void* saved, void const** from, std::size_t* size);

// The thread sanitizer takes fibers for threads.
[[nodiscard]] void* make_tsan_fiber();
void name_tsan_fiber(void* fiber, char const* name);
void destroy_tsan_fiber(void* fiber);
[[nodiscard]] void* current_tsan_fiber();
// `ordered`: actions before the switch happen before those after it.
void switch_tsan_fiber(void* to, bool ordered);
// Actions before a hand_over() of `what` happen before those after a take_over().
void hand_over(void* what);
void take_over(void* what);

// Mark bytes that nobody may touch for the address sanitizer, and bytes that one may.
void forbid_bytes(void const* at, std::size_t size);
void allow_bytes(void const* at, std::size_t size);

}  // namespace carillon::detail
