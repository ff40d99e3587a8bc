// SPDX-License-Identifier: Apache-2.0
#include "adversary/machine/fiber.hpp"

#include <boost/context/preallocated.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>
#include <memory>
#include <utility>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace carillon::test {
namespace {

constexpr std::size_t stack_bytes = 256 * 1024;

// AddressSanitizer wants to know of every change of stack: before, and when the other side is
// reached. `save` is where the stack being left keeps its state, nullptr if it is left for good.
void leaving([[maybe_unused]] void** save, [[maybe_unused]] void const* to,
             [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(save, to, size);
#endif
}

void arrived([[maybe_unused]] void* saved, [[maybe_unused]] void const** from,
             [[maybe_unused]] std::size_t* size) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(saved, from, size);
#endif
}

// ThreadSanitizer takes fibers for threads.
void* tsan_current() {
#if defined(__SANITIZE_THREAD__)
    return __tsan_get_current_fiber();
#else
    return nullptr;
#endif
}

void tsan_switch([[maybe_unused]] void* to) {
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(to, 0);
#endif
}

}  // namespace

Fiber::Fiber() {
#if defined(__SANITIZE_THREAD__)
    tsan_inside_ = __tsan_create_fiber(0);
#endif
    boost::context::protected_fixedsize_stack allocator(stack_bytes);
    auto const stack = allocator.allocate();
    stack_ = static_cast<std::byte*>(stack.sp) - stack.size;
    stack_size_ = stack.size;
    inside_ = boost::context::fiber(std::allocator_arg,
                                    boost::context::preallocated(stack.sp, stack.size, stack),
                                    allocator, [this](boost::context::fiber&& outside) {
                                        outside_ = std::move(outside);
                                        run_bodies();
                                        return std::move(outside_);
                                    });
}

Fiber::~Fiber() {
    quit_ = true;
    resume();
#if defined(__SANITIZE_THREAD__)
    __tsan_destroy_fiber(tsan_inside_);
#endif
}

void Fiber::resume() {
    void* fake_stack = nullptr;
    tsan_outside_ = tsan_current();
    leaving(&fake_stack, stack_, stack_size_);
    tsan_switch(tsan_inside_);
    inside_ = std::move(inside_).resume();
    arrived(fake_stack, nullptr, nullptr);
}

void Fiber::suspend() {
    leaving(&inside_fake_stack_, outside_stack_, outside_stack_size_);
    tsan_switch(tsan_outside_);
    outside_ = std::move(outside_).resume();
    arrived(inside_fake_stack_, &outside_stack_, &outside_stack_size_);
}

void Fiber::run_bodies() {
    arrived(nullptr, &outside_stack_, &outside_stack_size_);
    while (!quit_) {
        (*body_)();
        body_ = nullptr;
        suspend();
    }
    leaving(nullptr, outside_stack_, outside_stack_size_);
    tsan_switch(tsan_outside_);
}

}  // namespace carillon::test
