// SPDX-License-Identifier: Apache-2.0
// How the threads of a block copy device memory to host memory, and how one of them reads words of
// it. Loads go past the caches of the SM, which do not see what others write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/block.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::device_copy {

struct Words {
    std::uint32_t word[3];
};

// Up to 12 bytes from any address, by the calling thread. What is beyond `size` has no meaning.
[[nodiscard]] CARILLON_HD inline Words load_words(unsigned char const* from, std::size_t size) {
    Words words{};
#if defined(__CUDA_ARCH__)
    // Aligned words that hold at least one of the bytes, shifted into place.
    std::size_t const skipped = reinterpret_cast<std::uintptr_t>(from) % sizeof(std::uint32_t);
    auto const* const aligned = reinterpret_cast<std::uint32_t const*>(from - skipped);
    std::size_t const end = size == 0 ? 0 : skipped + (size < sizeof(words) ? size : sizeof(words));
    std::uint32_t loaded[4];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        loaded[i] = i * sizeof(std::uint32_t) < end ? __ldcg(aligned + i) : 0;
    }
    auto const shift = static_cast<unsigned>(8 * skipped);
#pragma unroll
    for (unsigned i = 0; i < 3; ++i) {
        words.word[i] = __funnelshift_r(loaded[i], loaded[i + 1], shift);
    }
#else
    std::memcpy(&words, from, size < sizeof(words) ? size : sizeof(words));
#endif
    return words;
}

#if defined(__CUDA_ARCH__)

// 16 bytes each, `count` of them, by all threads of the block.
__device__ inline void copy_vectors(uint4* to, uint4 const* from, std::size_t count) {
    constexpr std::size_t unrolled = 4;  // loads in flight hide the latency of memory
    std::size_t const stride = block::size();
    std::size_t i = block::thread_rank();
    for (; i + (unrolled - 1) * stride < count; i += unrolled * stride) {
        uint4 loaded[unrolled];
#pragma unroll
        for (std::size_t n = 0; n < unrolled; ++n) loaded[n] = __ldcg(from + i + n * stride);
#pragma unroll
        for (std::size_t n = 0; n < unrolled; ++n) to[i + n * stride] = loaded[n];
    }
    for (; i < count; i += stride) to[i] = __ldcg(from + i);
}

// Fewer bytes than the block has threads, or a few more.
__device__ inline void copy_bytes(unsigned char* to, unsigned char const* from, std::size_t size) {
    for (std::size_t i = block::thread_rank(); i < size; i += block::size())
        to[i] = __ldcg(from + i);
}

#endif

// To host memory, by all threads of the block, each its part: others see the bytes after a barrier.
struct Push {
    // `to` and `from` have the same remainder by 16.
    CARILLON_HD static void copy(void* to, void const* from, std::size_t size) {
#if defined(__CUDA_ARCH__)
        constexpr std::size_t vector = sizeof(uint4);
        auto* out = static_cast<unsigned char*>(to);
        auto const* in = static_cast<unsigned char const*>(from);
        std::size_t const misplaced = reinterpret_cast<std::uintptr_t>(from) % vector;
        std::size_t const to_boundary = misplaced == 0 ? 0 : vector - misplaced;
        std::size_t const head = to_boundary < size ? to_boundary : size;
        std::size_t const vectors = (size - head) / vector;
        std::size_t const tail = head + vectors * vector;
        copy_bytes(out, in, head);
        copy_vectors(reinterpret_cast<uint4*>(out + head),
                     reinterpret_cast<uint4 const*>(in + head), vectors);
        copy_bytes(out + tail, in + tail, size - tail);
#else
        std::memcpy(to, from, size);
#endif
    }
};

}  // namespace carillon::device_copy
