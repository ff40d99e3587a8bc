// SPDX-License-Identifier: Apache-2.0
// Groups of threads that work together, as a parameter of ends and bodies: one thread, the lanes of
// a warp, or the threads of a block (block.hpp). On a GPU all threads of the group make each of
// these calls together. On the emulated device one thread stands for them all, except in a block
// that a test runs (testing.hpp). A test can substitute another group. The names are those of
// CUDA's cooperative groups, if these have one.
#pragma once

#include <concepts>
#include <cstdint>

#include "carillon/detail/machine/tested_block.hpp"
#include "carillon/detail/wire/config.hpp"

#if !defined(__CUDA_ARCH__)
#include <bit>
#endif

namespace carillon::detail {

template <class G>
concept Group = std::copyable<G> && requires(G const& group) {
    // The number of the calling thread, from 0, and the number of threads.
    { group.thread_rank() } -> std::same_as<unsigned>;
    { group.size() } -> std::same_as<unsigned>;
    // Returns when every thread has called it; earlier writes of each are then visible to all.
    group.sync();
};

// A group whose threads exchange values, like the lanes of a warp.
template <class G>
concept VotingGroup = Group<G> && requires(G const& group, bool value, std::uint64_t word) {
    // The largest size(), known to the compiler.
    { G::most } -> std::convertible_to<unsigned>;
    // Whether `value` is true in all threads, or in any thread.
    { group.all(value) } -> std::same_as<bool>;
    { group.any(value) } -> std::same_as<bool>;
    // The number of threads in which it is true: in the group, or among those of lower rank.
    { group.count(value) } -> std::same_as<unsigned>;
    { group.count_before(value) } -> std::same_as<unsigned>;
    // The word of the thread of rank 0.
    { group.broadcast(word) } -> std::same_as<std::uint64_t>;
};

// A group whose threads see one variable, like those of a block.
template <class G>
concept SharingGroup = Group<G> && requires(G const& group, int& own) {
    // One variable for each name, which is a type. One thread writes it, and a sync() comes
    // between. If one thread is the group, `own` takes its place.
    { group.template shared<int>(own) } -> std::same_as<int&>;
};

// Whether the calling thread acts for all. Groups are passed by value, because passing on a
// reference into an end changes nvcc's code.
template <Group G>
[[nodiscard]] CARILLON_HD bool is_leader(G group) {
    return group.thread_rank() == 0;
}

inline constexpr unsigned lanes_per_warp = 32;

struct OneThread {
    static constexpr unsigned most = 1;
    [[nodiscard]] CARILLON_HD static unsigned thread_rank() { return 0; }
    [[nodiscard]] CARILLON_HD static unsigned size() { return 1; }
    CARILLON_HD static void sync() {}
    [[nodiscard]] CARILLON_HD static bool all(bool value) { return value; }
    [[nodiscard]] CARILLON_HD static bool any(bool value) { return value; }
    [[nodiscard]] CARILLON_HD static unsigned count(bool value) { return value ? 1 : 0; }
    [[nodiscard]] CARILLON_HD static unsigned count_before(bool /*value*/) { return 0; }
    [[nodiscard]] CARILLON_HD static std::uint64_t broadcast(std::uint64_t word) { return word; }
    template <class Name, class Shared>
    [[nodiscard]] CARILLON_HD static Shared& shared(Shared& own) {
        return own;
    }
};

#if defined(__CUDA_ARCH__)

class WarpLanes {
   public:
    static constexpr unsigned most = lanes_per_warp;
    [[nodiscard]] __device__ static unsigned thread_rank() { return threadIdx.x % lanes_per_warp; }
    [[nodiscard]] __device__ static unsigned size() { return lanes_per_warp; }
    // W1, in every lane: otherwise a lane's loads could come after lane 0's stores for all.
    __device__ static void sync() { __syncwarp(); }
    [[nodiscard]] __device__ static bool all(bool value) { return __all_sync(everybody, value); }
    [[nodiscard]] __device__ static bool any(bool value) { return __any_sync(everybody, value); }
    [[nodiscard]] __device__ static unsigned count(bool value) {
        return static_cast<unsigned>(__popc(__ballot_sync(everybody, value)));
    }
    [[nodiscard]] __device__ static unsigned count_before(bool value) {
        return static_cast<unsigned>(
            __popc(__ballot_sync(everybody, value) & ((1U << thread_rank()) - 1)));
    }
    [[nodiscard]] __device__ static std::uint64_t broadcast(std::uint64_t word) {
        return __shfl_sync(everybody, word, 0);
    }

   private:
    static constexpr unsigned everybody = 0xffffffffU;
};

#else

class WarpLanes {
   public:
    // Code for one thread also serves several lanes, without the GPU's optimisations.
    static constexpr unsigned most = 1;
    [[nodiscard]] CARILLON_HD static unsigned thread_rank() {
        auto const* const tested = tested_block;
        return tested == nullptr ? 0 : tested->thread_rank() % lanes_per_warp;
    }
    [[nodiscard]] CARILLON_HD static unsigned size() {
        auto const* const tested = tested_block;
        return tested == nullptr ? 1 : tested->lanes();
    }
    CARILLON_HD static void sync() {
        if (tested_block != nullptr) tested_block->sync_warp("WarpLanes::sync");
    }
    [[nodiscard]] CARILLON_HD static bool all(bool value) {
        return ballot("WarpLanes::all", !value) == 0;
    }
    [[nodiscard]] CARILLON_HD static bool any(bool value) {
        return ballot("WarpLanes::any", value) != 0;
    }
    [[nodiscard]] CARILLON_HD static unsigned count(bool value) {
        return popcount(ballot("WarpLanes::count", value));
    }
    [[nodiscard]] CARILLON_HD static unsigned count_before(bool value) {
        return popcount(ballot("WarpLanes::count_before", value) & ((1U << thread_rank()) - 1));
    }
    [[nodiscard]] CARILLON_HD static std::uint64_t broadcast(std::uint64_t word) {
        auto* const tested = tested_block;
        return tested == nullptr ? word : tested->broadcast("WarpLanes::broadcast", word);
    }

   private:
    [[nodiscard]] CARILLON_HD static std::uint32_t ballot(char const* call, bool value) {
        auto* const tested = tested_block;
        return tested == nullptr ? std::uint32_t{value} : tested->ballot(call, value);
    }
    [[nodiscard]] CARILLON_HD static unsigned popcount(std::uint32_t votes) {
        return static_cast<unsigned>(std::popcount(votes));
    }
};

#endif

}  // namespace carillon::detail
