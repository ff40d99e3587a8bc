// SPDX-License-Identifier: Apache-2.0
// A thread of execution that runs when it is resumed and stops when it suspends itself. It runs one
// body after another, so that no run allocates a stack.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <functional>

namespace carillon::detail {

class Fiber {
   public:
    static constexpr std::size_t usual_stack_bytes = std::size_t{256} * 1024;

    // Whether a switch orders accesses before and after it for the thread sanitizer. A body's begin
    // and end always do.
    enum class Switches : bool { order, order_nothing };

    // Throws std::bad_alloc. Only the used part of the stack takes memory; below it is a page that
    // nobody may touch.
    explicit Fiber(std::size_t stack_bytes = usual_stack_bytes,
                   Switches switches = Switches::order);
    ~Fiber();
    Fiber& operator=(Fiber&&) = delete;

    // The name in reports of the thread sanitizer.
    void set_name(char const* name) const;
    // Starts the next body, which must not throw and outlives its run. The last one has finished.
    void begin(std::function<void()> const& body);
    [[nodiscard]] bool finished() const { return body_ == nullptr; }

    // Ends the body where it is suspended: nothing on its stack is destroyed. The fiber cannot be
    // used any more.
    void abandon();

    // Runs the fiber until it suspends itself or its body ends.
    void resume();
    // The body calls it: returns to the caller of resume().
    void suspend();

   private:
    void run_bodies();
    void switch_tsan(void* to) const;

    std::function<void()> const* body_ = nullptr;
    bool quit_ = false;
    Switches switches_;
    boost::context::stack_context stack_{};
    boost::context::fiber inside_;
    boost::context::fiber outside_;
    // State of the sanitizers for the two stacks.
    void const* outside_stack_ = nullptr;
    std::size_t outside_stack_size_ = 0;
    void* inside_fake_stack_ = nullptr;
    void* tsan_inside_ = nullptr;
    void* tsan_outside_ = nullptr;
};

// The following functions tell the sanitizers. They detect a program's sanitizers at run time: this
// library may be built without the sanitizer of a user's test.
//
// Actions before a hand_over() of `what` happen before those after a take_over().
void hand_over(void* what);
void take_over(void* what);

// Mark bytes that nobody may touch for the address sanitizer, and bytes that one may.
void forbid_bytes(void const* at, std::size_t size);
void allow_bytes(void const* at, std::size_t size);

}  // namespace carillon::detail
