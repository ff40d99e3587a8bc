// SPDX-License-Identifier: Apache-2.0
#include "testing/sanitizers.hpp"

// Declared here, since the sanitizers' own headers do not make them weak.
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)
extern "C" {
[[gnu::weak]] void __sanitizer_start_switch_fiber(void** save, void const* to, std::size_t size);
[[gnu::weak]] void __sanitizer_finish_switch_fiber(void* saved, void const** from,
                                                   std::size_t* size);
[[gnu::weak]] void __asan_poison_memory_region(void const volatile* at, std::size_t size);
[[gnu::weak]] void __asan_unpoison_memory_region(void const volatile* at, std::size_t size);
[[gnu::weak]] void* __tsan_create_fiber(unsigned flags);
[[gnu::weak]] void __tsan_destroy_fiber(void* fiber);
[[gnu::weak]] void __tsan_set_fiber_name(void* fiber, char const* name);
[[gnu::weak]] void* __tsan_get_current_fiber();
[[gnu::weak]] void __tsan_switch_to_fiber(void* fiber, unsigned flags);
[[gnu::weak]] void __tsan_acquire(void* what);
[[gnu::weak]] void __tsan_release(void* what);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl37-c,cert-dcl51-cpp,readability-identifier-naming)

namespace carillon::detail {

void leaving_stack(void** save, void const* to, std::size_t size) {
    if (__sanitizer_start_switch_fiber != nullptr) __sanitizer_start_switch_fiber(save, to, size);
}

void arrived_on_stack(void* saved, void const** from, std::size_t* size) {
    if (__sanitizer_finish_switch_fiber != nullptr)
        __sanitizer_finish_switch_fiber(saved, from, size);
}

void* make_tsan_fiber() {
    return __tsan_create_fiber != nullptr ? __tsan_create_fiber(0) : nullptr;
}

void name_tsan_fiber(void* fiber, char const* name) {
    if (__tsan_set_fiber_name != nullptr) __tsan_set_fiber_name(fiber, name);
}

void destroy_tsan_fiber(void* fiber) {
    if (__tsan_destroy_fiber != nullptr) __tsan_destroy_fiber(fiber);
}

void* current_tsan_fiber() {
    return __tsan_get_current_fiber != nullptr ? __tsan_get_current_fiber() : nullptr;
}

void switch_tsan_fiber(void* to, bool ordered) {
    constexpr unsigned no_sync = 1;  // __tsan_switch_to_fiber_no_sync
    if (__tsan_switch_to_fiber != nullptr) __tsan_switch_to_fiber(to, ordered ? 0 : no_sync);
}

void hand_over(void* what) {
    if (__tsan_release != nullptr) __tsan_release(what);
}

void take_over(void* what) {
    if (__tsan_acquire != nullptr) __tsan_acquire(what);
}

void forbid_bytes(void const* at, std::size_t size) {
    if (__asan_poison_memory_region != nullptr) __asan_poison_memory_region(at, size);
}

void allow_bytes(void const* at, std::size_t size) {
    if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(at, size);
}

}  // namespace carillon::detail
