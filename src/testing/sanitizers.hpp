// SPDX-License-Identifier: Apache-2.0
// What the sanitizers are told of fibers. Whether a program has a sanitizer is found out as it
// runs: this library may be built without the sanitizer that a user's test is built with.
#pragma once

#include <cstddef>

namespace carillon::detail {

// The address sanitizer is told of every change of stack: before it, and on the other stack after
// it. `save` is where the state of the stack that is left is kept, nullptr if it is left for good.
void leaving_stack(void** save, void const* to, std::size_t size);
void arrived_on_stack(void* saved, void const** from, std::size_t* size);

// The thread sanitizer takes fibers for threads.
[[nodiscard]] void* make_tsan_fiber();
void name_tsan_fiber(void* fiber, char const* name);
void destroy_tsan_fiber(void* fiber);
[[nodiscard]] void* current_tsan_fiber();
// `ordered`: what was done before the switch happens before what comes behind it.
void switch_tsan_fiber(void* to, bool ordered);
// What was done before a hand_over() of `what` happens before what comes behind a take_over().
void hand_over(void* what);
void take_over(void* what);

// Bytes that nobody may touch, to the address sanitizer, and bytes that one may.
void forbid_bytes(void const* at, std::size_t size);
void allow_bytes(void const* at, std::size_t size);

}  // namespace carillon::detail
