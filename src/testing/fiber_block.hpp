// SPDX-License-Identifier: Apache-2.0
// A block whose threads are fibers. One runs at a time, until it waits for others or calls the
// library; a seed decides which is next.
//
// The thread sanitizer takes each fiber for a thread, and takes only barriers for an order. So this
// code, which all fibers run, is built without that sanitizer. Its functions that fibers call use
// no function of the C library that the sanitizer watches, such as memcpy.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "carillon/block.hpp"
#include "carillon/detail/machine/tested_block.hpp"
#include "carillon/detail/wire/config.hpp"
#include "testing/fiber.hpp"
#include "testing/random.hpp"

namespace carillon::detail {

// The shared memory of a block: the first thread that asks for a variable makes it.
class BlockMemory {
   public:
    static constexpr std::size_t most_bytes = block::most_shared_bytes;
    static constexpr std::size_t most_variables = 256;

    BlockMemory() = default;
    ~BlockMemory();
    BlockMemory& operator=(BlockMemory&&) = delete;

    // Removes all variables, and sets every byte to `pattern`.
    void begin(std::byte pattern);
    // The variable of `site`. Throws UsageError if there is no room.
    [[nodiscard]] void* variable(void const* site, std::size_t bytes, std::size_t alignment);

   private:
    struct Variable {
        void const* site;
        std::size_t at;
    };
    static constexpr std::size_t most_alignment =
        1024;                                    // the alignment that TMA needs for its tiles
    static constexpr std::size_t red_zone = 32;  // behind a variable, forbidden
    // A variable's size is a multiple of its alignment: the gaps take no more than the variables.
    static constexpr std::size_t room = 2 * most_bytes + most_variables * 2 * red_zone;

    struct alignas(most_alignment) Room {
        std::array<std::byte, room> bytes;
    };
    [[nodiscard]] void* add(void const* site, std::size_t bytes, std::size_t alignment);

    std::unique_ptr<Room> room_ = std::make_unique<Room>();
    std::array<Variable, most_variables> variables_{};
    std::size_t count_ = 0;
    std::size_t bytes_ = 0;  // of all variables
    std::size_t end_ = 0;    // of the last variable and its red zone
};

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
