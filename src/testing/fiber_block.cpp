// SPDX-License-Identifier: Apache-2.0
#include "testing/fiber_block.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "carillon/block.hpp"
#include "carillon/detail/machine/group.hpp"
#include "carillon/error.hpp"
#include "carillon/testing.hpp"
#include "testing/fiber.hpp"

namespace carillon::detail {

BlockMemory::~BlockMemory() { allow_bytes(room_.get(), sizeof(Room)); }

void BlockMemory::begin(std::byte pattern) {
    allow_bytes(room_.get(), sizeof(Room));
    std::memset(room_.get(), std::to_integer<int>(pattern), sizeof(Room));
    forbid_bytes(room_.get(), sizeof(Room));
    count_ = bytes_ = end_ = 0;
}

// Threads call it one after the other, without an order between them: so it writes nothing that the
// thread sanitizer watches.
void* BlockMemory::variable(void const* site, std::size_t bytes, std::size_t alignment) {
    auto* const begin = reinterpret_cast<std::byte*>(room_.get());
    for (std::size_t i = 0; i != count_; ++i) {
        if (variables_[i].site == site) return begin + variables_[i].at;
    }
    return add(site, bytes, alignment);
}

void* BlockMemory::add(void const* site, std::size_t bytes, std::size_t alignment) {
    if (alignment > most_alignment || count_ == most_variables || bytes > most_bytes - bytes_) {
        throw UsageError(fmt::format(
            "a shared variable of {} bytes, aligned to {}, does not fit after {} variables of {} "
            "bytes: a block has at most {} variables and {} bytes, with an alignment of at most {}",
            bytes, alignment, count_, bytes_, most_variables, most_bytes, most_alignment));
    }
    std::size_t const at = (end_ + alignment - 1) / alignment * alignment;
    variables_[count_++] = {site, at};
    bytes_ += bytes;
    // The address sanitizer has marks for multiples of 8 bytes.
    end_ = (at + bytes + red_zone + 7) / 8 * 8;
    auto* const begin = reinterpret_cast<std::byte*>(room_.get()) + at;
    allow_bytes(begin, bytes);
    return begin;
}

namespace {

constexpr unsigned most_threads = 1024;
constexpr std::size_t least_stack = std::size_t{16} * 1024;
constexpr std::size_t most_stack = std::size_t{1} << 47U;

// Makes this CPU thread run as a block, with its index, as long as it lives.
class Current {
   public:
    Current(TestedBlock* block, unsigned index) : before_(block::index()) {
        if (tested_block != nullptr)
            throw UsageError("a thread of a tested block cannot call this");
        block::emulate(index);
        tested_block = block;
    }
    ~Current() {
        tested_block = nullptr;
        block::emulate(before_);
    }
    Current& operator=(Current&&) = delete;

   private:
    unsigned before_;
};

bool same_text(char const* one, char const* other) {
    return one == other || (one != nullptr && other != nullptr && std::strcmp(one, other) == 0);
}

struct Rank {
    unsigned first;
    unsigned last;
};

std::string describe(Rank const& ranks) {
    if (ranks.first == ranks.last) return fmt::format("{}", ranks.first);
    return fmt::format("{} to {}", ranks.first, ranks.last);
}

// "0 and 2 to 31"
std::string describe(std::vector<Rank> const& ranks) {
    std::string text;
    for (std::size_t i = 0; i != ranks.size(); ++i) {
        if (i != 0) text += i + 1 == ranks.size() ? " and " : ", ";
        text += describe(ranks[i]);
    }
    return text;
}

// Describes what all of some threads do.
std::string describe(ThreadState const& state, bool one) {
    bool const at_barrier = state.wait.whom == BlockWait::For::block;
    std::string text;
    if (state.ended || (at_barrier && state.wait.where.file == nullptr)) {
        text = one ? "has returned" : "have returned";
    } else {
        text = fmt::format("{} at {}", one ? "waits" : "wait", state.wait.call);
        if (at_barrier)
            text += fmt::format(" ({}:{})", state.wait.where.file, state.wait.where.line);
    }
    if (state.barriers == 0) return text;
    return text +
           fmt::format(" after {} barrier{}", state.barriers, state.barriers == 1 ? "" : "s");
}

// Threads that do the same.
struct Alike {
    ThreadState state;
    std::vector<Rank> ranks;
};

// "threads 0 and 2 to 31 wait at ...; thread 1 has returned", for all threads in order.
std::string describe_threads(std::vector<ThreadState> const& threads) {
    std::vector<Alike> groups;
    for (unsigned i = 0; i != threads.size(); ++i) {
        auto const same = [&, own = describe(threads[i], true)](Alike const& each) {
            return describe(each.state, true) == own;
        };
        auto group = std::find_if(groups.begin(), groups.end(), same);
        if (group == groups.end()) group = groups.insert(group, {threads[i], {}});
        bool const next = !group->ranks.empty() && group->ranks.back().last + 1 == i;
        if (next) group->ranks.back().last = i;
        if (!next) group->ranks.push_back({i, i});
    }
    std::vector<std::string> texts;
    for (auto const& [state, ranks] : groups) {
        bool const one = ranks.size() == 1 && ranks[0].first == ranks[0].last;
        texts.push_back(
            fmt::format("thread{} {} {}", one ? "" : "s", describe(ranks), describe(state, one)));
    }
    return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace

bool BlockWait::same_as(BlockWait const& other) const {
    return whom == other.whom && same_text(call, other.call) &&
           same_text(where.file, other.where.file) && where.line == other.where.line;
}

void require_stack(std::size_t stack_bytes) {
    if (stack_bytes >= least_stack && stack_bytes <= most_stack) return;
    throw UsageError(fmt::format("stacks of {} bytes requested: a thread of a block has {} to {}",
                                 stack_bytes, least_stack, most_stack));
}

FiberBlock::Thread::Thread(unsigned number, Warp* lanes_of, std::size_t stack_bytes)
    : rank(number), warp(lanes_of), fiber(stack_bytes, Fiber::Switches::order_nothing) {
    fiber.set_name(fmt::format("thread {} of the block", rank).c_str());
}

FiberBlock::FiberBlock(unsigned threads, std::size_t stack_bytes) : threads_(threads) {
    if (threads == 0 || threads > most_threads) {
        throw UsageError(
            fmt::format("{} threads requested: a block has 1 to {}", threads, most_threads));
    }
    require_stack(stack_bytes);
    ready_.reserve(threads);
    warps_.resize((threads + lanes_per_warp - 1) / lanes_per_warp);
    try {
        for (unsigned i = 0; i != threads; ++i) {
            all_.emplace_back(i, &warps_[i / lanes_per_warp], stack_bytes);
        }
    } catch (std::bad_alloc const&) {
        throw OutOfMemoryError(
            fmt::format("{} stacks of {} bytes requested, but memory has room for {}", threads,
                        stack_bytes, all_.size()));
    }
}

void FiberBlock::run(std::uint64_t seed, unsigned index, std::function<void()> const& body) {
    Current const current(this, index);
    begin(seed, body);
    for (unsigned ended = 0; ended != threads_ && !failed_;) {
        if (ready_.empty()) {
            fail_by_barrier();
        } else {
            step(choose());
            if (running_->state.ended) ++ended;
        }
    }
    if (!failed_) return;
    for (Thread& each : all_) {
        if (!each.state.ended) each.fiber.abandon();
    }
    std::rethrow_exception(std::exchange(failure_, nullptr));
}

void FiberBlock::begin(std::uint64_t seed, std::function<void()> const& body) {
    // Unwritten memory differs from one seed to the next.
    memory_.begin(seed % 2 == 0 ? std::byte{0xA5} : std::byte{0x5A});
    seed_ = seed;
    random_ = Random(seed);
    body_ = &body;
    failed_ = passed_ = false;
    ready_.clear();
    barrier_ = {};
    for (Warp& each : warps_) each.barrier = {};
    for (Thread& each : all_) {
        each.state = {};
        each.fiber.begin(guarded_);
        ready_.push_back(each.rank);
    }
    ready_count_ = threads_;
}

// Seed 0 runs the threads in the order of their ranks, seed 1 in the opposite order: of any two
// threads each is ahead in one of them. When a thread waits by calling the library, any other may
// run.
std::size_t FiberBlock::choose() {
    if (passed_ || seed_ > 1) return random_.below(static_cast<std::uint32_t>(ready_.size()));
    auto const chosen = seed_ == 0 ? std::min_element(ready_.begin(), ready_.end())
                                   : std::max_element(ready_.begin(), ready_.end());
    return static_cast<std::size_t>(chosen - ready_.begin());
}

void FiberBlock::step(std::size_t place) {
    Thread& thread = all_[ready_[place]];
    running_ = &thread;
    passed_ = false;
    thread.fiber.resume();
    bool const waits = thread.state.wait.whom != BlockWait::For::nobody;
    passed_ = !thread.state.ended && !waits;
    if (passed_) return;
    ready_[place] = ready_.back();
    ready_.pop_back();
    if (!thread.state.ended) arrive(thread);
    ready_count_ = static_cast<unsigned>(ready_.size());
}

void FiberBlock::arrive(Thread& thread) {
    if (thread.state.wait.whom == BlockWait::For::block) {
        if (++barrier_.arrived == threads_) leave(barrier_, 0, threads_);
        return;
    }
    unsigned const first = thread.rank / lanes_per_warp * lanes_per_warp;
    Warp& warp = *thread.warp;
    if (++warp.barrier.arrived != lanes_of(first)) return;
    tell_votes(warp, first, lanes_of(first));
    leave(warp.barrier, first, lanes_of(first));
}

// All threads of the barrier are there; they leave it if they made the same call.
void FiberBlock::leave(Barrier& barrier, unsigned first, unsigned count) {
    BlockWait const wait = all_[first].state.wait;
    for (unsigned i = first; i != first + count; ++i) {
        if (!all_[i].state.wait.same_as(wait)) return;
    }
    bool const returned = wait.whom == BlockWait::For::block && wait.where.file == nullptr;
    for (unsigned i = first; i != first + count; ++i) {
        ThreadState& state = all_[i].state;
        state.wait = {};
        if (wait.whom == BlockWait::For::block) state.barriers = returned ? 0 : state.barriers + 1;
        ready_.push_back(i);
    }
    barrier.arrived = 0;
    ++barrier.round;
}

void FiberBlock::tell_votes(Warp& warp, unsigned first, unsigned count) {
    warp.votes = 0;
    for (unsigned i = 0; i != count; ++i) {
        if (all_[first + i].vote) warp.votes |= 1U << i;
    }
    warp.word = all_[first].word;
}

// No thread can continue.
void FiberBlock::fail_by_barrier() {
    std::vector<ThreadState> states;
    for (Thread const& each : all_) states.push_back(each.state);
    fail(std::make_exception_ptr(testing::BarrierError(
        seed_, fmt::format("with seed {} the threads of the block do not meet: {}", seed_,
                           describe_threads(states)))));
}

void FiberBlock::fail(std::exception_ptr why) {
    failed_ = true;
    failure_ = std::move(why);
}

// The rest runs in the block's threads.

void FiberBlock::run_body() {
    Thread& thread = *running_;
    try {
        (*body_)();
    } catch (...) {
        fail(std::current_exception());
    }
    thread.state.ended = true;
}

// During an exception destructors run: no other thread runs then, since the compiler's runtime
// knows only one stack.
void FiberBlock::wait(BlockWait const& what) {
    if (std::uncaught_exceptions() != 0) return;
    running_->state.wait = what;
    running_->fiber.suspend();
}

void FiberBlock::pass() {
    if (ready_count_ != 1) wait({});
}

void FiberBlock::sync(CodeLocation const& where) {
    char* const order = &barrier_.orders[barrier_.round % 2];
    hand_over(order);
    wait({BlockWait::For::block, "block::sync", where});
    take_over(order);
}

void FiberBlock::sync_warp(char const* call) {
    Barrier& barrier = running_->warp->barrier;
    char* const order = &barrier.orders[barrier.round % 2];
    hand_over(order);
    wait({BlockWait::For::warp, call});
    take_over(order);
}

// Like on a GPU, a vote orders nothing else.
std::uint32_t FiberBlock::ballot(char const* call, bool value) {
    running_->vote = value;
    wait({BlockWait::For::warp, call});
    return running_->warp->votes;
}

std::uint64_t FiberBlock::broadcast(char const* call, std::uint64_t word) {
    running_->word = word;
    wait({BlockWait::For::warp, call});
    return running_->warp->word;
}

void* FiberBlock::shared(void const* site, std::size_t bytes, std::size_t alignment) {
    return memory_.variable(site, bytes, alignment);
}

unsigned FiberBlock::lanes() const {
    return lanes_of(running_->rank / lanes_per_warp * lanes_per_warp);
}

unsigned FiberBlock::lanes_of(unsigned first) const {
    return std::min(threads_ - first, lanes_per_warp);
}

}  // namespace carillon::detail
