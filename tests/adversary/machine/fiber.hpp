// SPDX-License-Identifier: Apache-2.0
// A thread of execution that runs when it is told to and stops where it says so. Made once and
// given one body after another, so that a run of the machine allocates no stack.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>

namespace carillon::test {

class Fiber {
   public:
    Fiber();
    ~Fiber();
    Fiber(Fiber const&) = delete;
    Fiber& operator=(Fiber const&) = delete;

    // The next body, which must not throw and must outlive its run. The last one has finished.
    void begin(std::function<void()> const& body) { body_ = &body; }
    [[nodiscard]] bool finished() const { return body_ == nullptr; }

    // Runs the fiber until it suspends itself or its body ends.
    void resume();
    // Called by the body: goes back to whoever resumed the fiber.
    void suspend();

   private:
    void run_bodies();

    std::function<void()> const* body_ = nullptr;
    bool quit_ = false;
    boost::context::fiber inside_;
    boost::context::fiber outside_;
    // What the sanitizers are told about the two stacks.
    void const* stack_ = nullptr;
    std::size_t stack_size_ = 0;
    void const* outside_stack_ = nullptr;
    std::size_t outside_stack_size_ = 0;
    void* inside_fake_stack_ = nullptr;
    void* tsan_inside_ = nullptr;
    void* tsan_outside_ = nullptr;
};

}  // namespace carillon::test
