// SPDX-License-Identifier: Apache-2.0
// Copies between device memory and host memory by the threads of a block, and loads of words by one
// of them, for DeviceReader and DeviceWriter. Loads bypass the SM's caches, which do not see the
// writes of others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "carillon/block.hpp"
#include "carillon/detail/machine/ptx.hpp"
#include "carillon/detail/wire/line.hpp"

namespace carillon::detail::device_copy {

struct Words {
    std::uint32_t word[3];
};

// Loads up to 12 bytes from any address, in the calling thread. Bytes beyond `size` are undefined.
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

// Copies `count` vectors of 16 bytes, by all threads of the block.
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

// Copies fewer bytes than the block has threads, or a few more.
__device__ inline void copy_bytes(unsigned char* to, unsigned char const* from, std::size_t size) {
    for (std::size_t i = block::thread_rank(); i < size; i += block::size())
        to[i] = __ldcg(from + i);
}

#endif

// Copies to host memory by all threads of the block. Others see the bytes after a barrier.
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
        if (block::thread_rank() == 0) std::memcpy(to, from, size);
#endif
    }
};

#if defined(__CUDA_ARCH__)

// Stores a quad at an address that is aligned only for a Word.
template <class Word>
__device__ inline void store_quad(unsigned char* to, Quad const& quad) {
    constexpr unsigned words = sizeof(std::uint64_t) / sizeof(Word);
    auto* const out = reinterpret_cast<Word*>(to);
#pragma unroll
    for (unsigned i = 0; i < words; ++i) {
        out[i] = static_cast<Word>(quad.low >> (8 * sizeof(Word) * i));
        out[words + i] = static_cast<Word>(quad.high >> (8 * sizeof(Word) * i));
    }
}
template <>
__device__ inline void store_quad<Quad>(unsigned char* to, Quad const& quad) {
    *reinterpret_cast<uint4*>(to) = {
        static_cast<unsigned>(quad.low), static_cast<unsigned>(quad.low >> 32),
        static_cast<unsigned>(quad.high), static_cast<unsigned>(quad.high >> 32)};
}

// Copies `count` quads by all threads of the block. A load takes a bus round trip, so each thread
// has several in flight at once, also at the end. There are fewer if each byte is stored
// separately, for lack of registers.
template <class Word>
__device__ inline void pull_quads(unsigned char* to, Quad const* from, std::size_t count) {
    constexpr std::size_t unrolled = sizeof(Word) == 1 ? 4 : 8;
    std::size_t const stride = block::size();
    std::size_t i = block::thread_rank();
    Quad loaded[unrolled];
    for (; i + (unrolled - 1) * stride < count; i += unrolled * stride) {
#pragma unroll
        for (std::size_t n = 0; n < unrolled; ++n) {
            loaded[n] = Ptx::load_host(from + i + n * stride);
        }
#pragma unroll
        for (std::size_t n = 0; n < unrolled; ++n) {
            store_quad<Word>(to + (i + n * stride) * sizeof(Quad), loaded[n]);
        }
    }
#pragma unroll
    for (std::size_t n = 0; n < unrolled - 1; ++n) {
        if (i + n * stride < count) loaded[n] = Ptx::load_host(from + i + n * stride);
    }
#pragma unroll
    for (std::size_t n = 0; n < unrolled - 1; ++n) {
        if (i + n * stride < count) {
            store_quad<Word>(to + (i + n * stride) * sizeof(Quad), loaded[n]);
        }
    }
}

// Chooses by the alignment of `to`; `from` is aligned for quads.
__device__ inline void pull_quads_to(unsigned char* to, Quad const* from, std::size_t count) {
    auto const address = reinterpret_cast<std::uintptr_t>(to);
    if (address % sizeof(Quad) == 0) {
        pull_quads<Quad>(to, from, count);
    } else if (address % sizeof(std::uint32_t) == 0) {
        pull_quads<std::uint32_t>(to, from, count);
    } else {
        pull_quads<unsigned char>(to, from, count);
    }
}

#endif

// Copies from host memory by all threads of the block (32 or more on a GPU), each its part, with
// any alignment. Loads across the bus have 16 bytes, except at most 15 single bytes at either end.
struct Pull {
    CARILLON_HD static void copy(void* to, void const* from, std::size_t size) {
#if defined(__CUDA_ARCH__)
        auto* const out = static_cast<unsigned char*>(to);
        auto const* const in = static_cast<unsigned char const*>(from);
        std::size_t const misplaced = reinterpret_cast<std::uintptr_t>(from) % sizeof(Quad);
        std::size_t const to_boundary = misplaced == 0 ? 0 : sizeof(Quad) - misplaced;
        std::size_t const head = to_boundary < size ? to_boundary : size;
        std::size_t const quads = (size - head) / sizeof(Quad);
        std::size_t const tail = head + quads * sizeof(Quad);
        // Each of the first threads loads a byte of either end, in flight together with the quads.
        std::size_t const rank = block::thread_rank();
        unsigned char first = 0;
        unsigned char last = 0;
        if (rank < head) first = Ptx::load_host(in + rank);
        if (rank < size - tail) last = Ptx::load_host(in + tail + rank);
        pull_quads_to(out + head, reinterpret_cast<Quad const*>(in + head), quads);
        if (rank < head) out[rank] = first;
        if (rank < size - tail) out[tail + rank] = last;
#else
        if (block::thread_rank() == 0) std::memcpy(to, from, size);
#endif
    }
};

}  // namespace carillon::detail::device_copy
