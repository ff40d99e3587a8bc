// SPDX-License-Identifier: Apache-2.0
// A block whose threads are fibers. One runs at a time, until it waits for others or calls the
// library; a seed decides which is next.
//
// The thread sanitizer takes each fiber for a thread, and takes only barriers for an order. So this
// code, which all fibers run, is built without that sanitizer. Its functions that fibers call use
// no function of the C library that the sanitizer watches, such as memcpy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <string>
#include <vector>

#include "carillon/detail/machine/tested_block.hpp"
#include "carillon/detail/wire/config.hpp"
#include "testing/block_memory.hpp"
#include "testing/fiber.hpp"
#include "testing/random.hpp"

namespace carillon::detail {

// The threads that a thread waits for, and the call by which it waits.
struct BlockWait {
    enum class For : std::uint8_t { nobody, block, warp };

    For whom = For::nobody;
    char const* call = nullptr;
    CodeLocation where{nullptr, 0};

    [[nodiscard]] bool same_as(BlockWait const& other) const;
};

// The progress of a thread of a block, for a report.
struct ThreadState {
    bool ended = false;
    BlockWait wait;
    unsigned barriers = 0;  // barriers that it has left since it got its request
};

// "threads 0 and 2 to 31 wait at ...; thread 1 has returned", for all threads in order.
[[nodiscard]] std::string describe_threads(std::vector<ThreadState> const& threads);

// Throws UsageError for a stack that is too small, or larger than any address space.
void require_stack(std::size_t stack_bytes);

class FiberBlock final : public TestedBlock {
   public:
    // Throws UsageError and OutOfMemoryError.
    FiberBlock(unsigned threads, std::size_t stack_bytes);

    // Every thread runs `body`, as a thread of block `index`. Throws a thread's exception,
    // BarrierError, and UsageError within a thread of a tested block. After the first two the
    // object is useless.
    void run(std::uint64_t seed, unsigned index, std::function<void()> const& body);

    [[nodiscard]] unsigned thread_rank() const override { return running_->rank; }
    [[nodiscard]] unsigned size() const override { return threads_; }
    [[nodiscard]] unsigned lanes() const override;
    // Without a file the thread has returned from the handler.
    void sync(CodeLocation const& where) override;
    void sync_warp(char const* call) override;
    [[nodiscard]] std::uint32_t ballot(char const* call, bool value) override;
    [[nodiscard]] std::uint64_t broadcast(char const* call, std::uint64_t word) override;
    [[nodiscard]] void* shared(void const* site, std::size_t bytes, std::size_t alignment) override;
    void pass() override;

   private:
    // Barriers have turns: arriving at the next one must not order leaving this one.
    struct Barrier {
        unsigned arrived = 0;
        unsigned round = 0;
        char orders[2]{};
    };
    struct Warp {
        Barrier barrier;
        std::uint32_t votes = 0;
        std::uint64_t word = 0;
    };
    struct Thread {
        Thread(unsigned number, Warp* lanes_of, std::size_t stack_bytes);

        unsigned rank;
        Warp* warp;
        ThreadState state;
        bool vote = false;
        std::uint64_t word = 0;
        Fiber fiber;
    };

    void begin(std::uint64_t seed, std::function<void()> const& body);
    void run_body();
    void wait(BlockWait const& what);
    void fail(std::exception_ptr why);
    [[nodiscard]] std::size_t choose();
    void step(std::size_t place);
    void arrive(Thread& thread);
    void leave(Barrier& barrier, unsigned first, unsigned count);
    void tell_votes(Warp& warp, unsigned first, unsigned count);
    void fail_by_barrier();
    void abandon_threads();
    [[nodiscard]] unsigned lanes_of(unsigned first) const;

    unsigned threads_;
    std::deque<Warp> warps_;
    std::deque<Thread> all_;
    BlockMemory memory_;
    Barrier barrier_;
    std::function<void()> const guarded_ = [this] { run_body(); };
    std::function<void()> const* body_ = nullptr;
    Thread* running_ = nullptr;
    std::uint64_t seed_ = 0;
    Random random_;
    bool passed_ = false;  // the thread that ran last can continue
    bool failed_ = false;
    std::exception_ptr failure_;
    std::vector<unsigned> ready_;  // ranks
    unsigned ready_count_ = 0;     // for threads, which must not look into a vector
};

}  // namespace carillon::detail
