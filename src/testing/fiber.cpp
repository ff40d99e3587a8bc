// SPDX-License-Identifier: Apache-2.0
#include "testing/fiber.hpp"

#include <array>
#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <new>
#include <utility>

#include "testing/sanitizers.hpp"

namespace carillon::detail {
namespace {

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
    : switches_(switches), tsan_inside_(make_tsan_fiber()) {
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
    destroy_tsan_fiber(tsan_inside_);
}

void Fiber::abandon() {
    body_ = nullptr;
    // Its destructor would unwind the stack, which a function that may not throw does not allow.
    alignas(boost::context::fiber) std::array<std::byte, sizeof(inside_)> never_destroyed;
    ::new (never_destroyed.data()) boost::context::fiber(std::move(inside_));
    Stacks().deallocate(stack_);
    // For the thread sanitizer the body's actions come before its beginner's next ones.
    void* const outside = current_tsan_fiber();
    switch_tsan_fiber(tsan_inside_, true);
    switch_tsan_fiber(outside, true);
    destroy_tsan_fiber(tsan_inside_);
}

void Fiber::set_name(char const* name) const { name_tsan_fiber(tsan_inside_, name); }

void Fiber::begin(std::function<void()> const& body) {
    body_ = &body;
    hand_over(this);
}

void Fiber::resume() {
    void* fake_stack = nullptr;
    tsan_outside_ = current_tsan_fiber();
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

}  // namespace carillon::detail
