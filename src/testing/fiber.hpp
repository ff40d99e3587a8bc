// SPDX-License-Identifier: Apache-2.0
// A thread of execution that runs when it is told to and stops where it says so. Made once and
// given one body after another, so that no run allocates a stack.
#pragma once

#include <boost/context/fiber.hpp>
#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <functional>

namespace carillon::detail {

class Fiber {
   public:
    static constexpr std::size_t usual_stack_bytes = std::size_t{256} * 1024;

    // Whether the thread sanitizer takes a switch for an order of what comes before and behind it;
    // of a body's begin and end it always does.
    enum class Switches : bool { order, order_nothing };

    // Throws std::bad_alloc. Of the stack, only what is used takes memory; below it is a page that
    // nobody may touch.
    explicit Fiber(std::size_t stack_bytes = usual_stack_bytes,
                   Switches switches = Switches::order);
    ~Fiber();
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;

    // What reports of the thread sanitizer call it.
    void set_name(char const* name) const;
    // The next body, which must not throw and must outlive its run. The last one has finished.
    void begin(std::function<void()> const& body);
    [[nodiscard]] bool finished() const { return body_ == nullptr; }

    // Ends the body where it is suspended: nothing on its stack is destroyed. The fiber is of no
    // more use.
    void abandon();

    // Runs the fiber until it suspends itself or its body ends.
    void resume();
    // Called by the body: goes back to whoever resumed the fiber.
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
    // What the sanitizers are told about the two stacks.
    void const* outside_stack_ = nullptr;
    std::size_t outside_stack_size_ = 0;
    void* inside_fake_stack_ = nullptr;
    void* tsan_inside_ = nullptr;
    void* tsan_outside_ = nullptr;
};

}  // namespace carillon::detail
