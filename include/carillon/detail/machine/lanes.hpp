// SPDX-License-Identifier: Apache-2.0
// The lanes of a warp as code that serves with a whole warp sees them. On a GPU every lane of the
// warp makes each of these calls together with the others; on the emulated device one thread
// stands for the warp. Whoever serves takes this class as a parameter: a test can put another in
// its place.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/config.hpp"

namespace carillon {

inline constexpr unsigned lanes_per_warp = 32;

// A thread by itself.
class OneLane {
   public:
    static constexpr unsigned most = 1;
    [[nodiscard]] CARILLON_HD static unsigned count() { return 1; }
    [[nodiscard]] CARILLON_HD static unsigned index() { return 0; }
    [[nodiscard]] CARILLON_HD static bool all(bool value) { return value; }
    [[nodiscard]] CARILLON_HD static bool any(bool value) { return value; }
    [[nodiscard]] CARILLON_HD static std::uint64_t first(std::uint64_t value) { return value; }
    [[nodiscard]] CARILLON_HD static unsigned total(bool value) { return value ? 1 : 0; }
    [[nodiscard]] CARILLON_HD static unsigned rank(bool /*value*/) { return 0; }
    CARILLON_HD static void sync() {}
};

#if defined(__CUDA_ARCH__)

class WarpLanes {
   public:
    static constexpr unsigned most = lanes_per_warp;
    [[nodiscard]] __device__ static unsigned count() { return lanes_per_warp; }
    [[nodiscard]] __device__ static unsigned index() { return threadIdx.x % lanes_per_warp; }
    // Whether `value` is true on all lanes; on any.
    [[nodiscard]] __device__ static bool all(bool value) { return __all_sync(everybody, value); }
    [[nodiscard]] __device__ static bool any(bool value) { return __any_sync(everybody, value); }
    // The value of lane 0.
    [[nodiscard]] __device__ static std::uint64_t first(std::uint64_t value) {
        return __shfl_sync(everybody, value, 0);
    }
    // On how many lanes `value` is true; on how many of those before this one.
    [[nodiscard]] __device__ static unsigned total(bool value) {
        return static_cast<unsigned>(__popc(__ballot_sync(everybody, value)));
    }
    [[nodiscard]] __device__ static unsigned rank(bool value) {
        return static_cast<unsigned>(
            __popc(__ballot_sync(everybody, value) & ((1U << index()) - 1)));
    }
    // Every lane has arrived here, and what each wrote before is visible to all.
    __device__ static void sync() { __syncwarp(); }

   private:
    static constexpr unsigned everybody = 0xffffffffU;
};

#else

using WarpLanes = OneLane;

#endif

}  // namespace carillon
