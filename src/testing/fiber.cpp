// SPDX-License-Identifier: Apache-2.0
#include "testing/fiber.hpp"

#include <array>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <new>
#include <utility>

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
namespace {

// Calls a sanitizer's function if the program has that sanitizer.
template <class Result, class... Parameters, class... Arguments>
Result call(Result (*function)(Parameters...), Arguments... arguments) {
    return function != nullptr ? function(arguments...) : Result();
}

// Tell the address sanitizer of every change of stack: before it, and on the new stack after it.
// `save` gets the state of the old stack, nullptr if that is left for good.
void leaving_stack(void** save, void const* to, std::size_t size) {
    call(__sanitizer_start_switch_fiber, save, to, size);
}
void arrived_on_stack(void* saved, void const** from, std::size_t* size) {
    call(__sanitizer_finish_switch_fiber, saved, from, size);
}

// `ordered`: actions before the switch happen before those after it.
void switch_tsan_fiber(void* to, bool ordered) {
    constexpr unsigned no_sync = 1;  // __tsan_switch_to_fiber_no_sync
    call(__tsan_switch_to_fiber, to, ordered ? 0 : no_sync);
}

void const* bottom_of(boost::context::stack_context const& stack) {
    return static_cast<std::byte const*>(stack.sp) - stack.size;
}

struct Stacks : boost::context::protected_fixedsize_stack {
    using boost::context::protected_fixedsize_stack::protected_fixedsize_stack;

    // Another mapping may lie there next: the address sanitizer must forbid none of its bytes.
    void deallocate(boost::context::stack_context& stack) noexcept {
        allow_bytes(bottom_of(stack), stack.size);
        boost::context::protected_fixedsize_stack::deallocate(stack);
    }
};

}  // namespace

Fiber::Fiber(std::size_t stack_bytes, Switches switches)
    : switches_(switches), tsan_inside_(call(__tsan_create_fiber, 0U)) {
    Stacks allocator(stack_bytes);
    stack_ = allocator.allocate();
    inside_ = boost::context::fiber(std::allocator_arg,
                                    boost::context::preallocated(stack_.sp, stack_.size, stack_),
                                    allocator, [this](boost::context::fiber&& outside) {
                                        outside_ = std::move(outside);
                                        run_bodies();
                                        return std::move(outside_);
                                    });
}

Fiber::~Fiber() {
    if (!inside_) return;
    quit_ = true;
    resume();
    call(__tsan_destroy_fiber, tsan_inside_);
}

void Fiber::abandon() {
    body_ = nullptr;
    // Its destructor would unwind the stack, which a function that may not throw does not allow.
    alignas(boost::context::fiber) std::array<std::byte, sizeof(inside_)> never_destroyed;
    ::new (never_destroyed.data()) boost::context::fiber(std::move(inside_));
    Stacks().deallocate(stack_);
    // For the thread sanitizer the body's actions come before its beginner's next ones.
    void* const outside = call(__tsan_get_current_fiber);
    switch_tsan_fiber(tsan_inside_, true);
    switch_tsan_fiber(outside, true);
    call(__tsan_destroy_fiber, tsan_inside_);
}

void Fiber::set_name(char const* name) const { call(__tsan_set_fiber_name, tsan_inside_, name); }

void Fiber::begin(std::function<void()> const& body) {
    body_ = &body;
    hand_over(this);
}

void Fiber::resume() {
    void* fake_stack = nullptr;
    tsan_outside_ = call(__tsan_get_current_fiber);
    leaving_stack(&fake_stack, bottom_of(stack_), stack_.size);
    switch_tsan(tsan_inside_);
    inside_ = std::move(inside_).resume();
    arrived_on_stack(fake_stack, nullptr, nullptr);
    if (finished()) take_over(this);
}

void Fiber::suspend() {
    leaving_stack(&inside_fake_stack_, outside_stack_, outside_stack_size_);
    switch_tsan(tsan_outside_);
    outside_ = std::move(outside_).resume();
    arrived_on_stack(inside_fake_stack_, &outside_stack_, &outside_stack_size_);
}

void Fiber::run_bodies() {
    arrived_on_stack(nullptr, &outside_stack_, &outside_stack_size_);
    while (!quit_) {
        take_over(this);
        (*body_)();
        hand_over(this);
        body_ = nullptr;
        suspend();
    }
    leaving_stack(nullptr, outside_stack_, outside_stack_size_);
    switch_tsan(tsan_outside_);
}

void Fiber::switch_tsan(void* to) const { switch_tsan_fiber(to, switches_ == Switches::order); }

void hand_over(void* what) { call(__tsan_release, what); }
void take_over(void* what) { call(__tsan_acquire, what); }

void forbid_bytes(void const* at, std::size_t size) { call(__asan_poison_memory_region, at, size); }
void allow_bytes(void const* at, std::size_t size) {
    call(__asan_unpoison_memory_region, at, size);
}

}  // namespace carillon::detail
