// SPDX-License-Identifier: Apache-2.0
// `Arena`: many pieces of mapped device memory from one allocation, for programs that need many.
// Each allocation takes driver calls, and the CPU may map only little of a GPU's memory (its BAR).
#pragma once

#include <cstddef>
#include <memory>

#include "carillon/device.hpp"

namespace carillon {
namespace detail {
class ArenaState;
}

// A piece of an arena. Its destructor gives it back; it keeps the arena's memory alive. No kernel
// may use a piece that was given back: the next piece may overlap it. The bytes are not zeroed.
class ArenaPiece {
   public:
    ArenaPiece() noexcept;  // none
    ArenaPiece(ArenaPiece&& other) noexcept;
    ArenaPiece& operator=(ArenaPiece&& other) noexcept;
    ~ArenaPiece();

    [[nodiscard]] void* host_ptr() const;        // see Memory::host_ptr
    [[nodiscard]] void* device_ptr() const;      // see Memory::device_ptr
    [[nodiscard]] std::size_t size() const;      // bytes, as requested
    [[nodiscard]] std::size_t offset() const;    // from the start of the arena
    [[nodiscard]] Memory const& memory() const;  // the memory of the whole arena

   private:
    friend class Arena;
    ArenaPiece(std::shared_ptr<detail::ArenaState> state, std::size_t offset, std::size_t size);
    void give_back() noexcept;

    std::shared_ptr<detail::ArenaState> state_;
    std::size_t offset_ = 0;
    std::size_t size_ = 0;
};

// Hands out pieces of one allocation, to any thread. It takes a lock: for setup, not hot paths.
class Arena {
   public:
    // `size` is in bytes. Throws OutOfMemoryError with the heap's size, its budget and the BAR's
    // size, UsageError for a size of 0, and what else Device::allocate throws.
    Arena(Device const& device, std::size_t size);
    Arena(Arena const&) = default;  // and moves: a handle, copies share the memory
    Arena& operator=(Arena const&) = default;
    ~Arena() = default;

    // Returns a piece of `size` bytes; `alignment` is a power of two up to 4096. Throws
    // OutOfMemoryError if no gap is large enough, and UsageError. Then nothing changes.
    [[nodiscard]] ArenaPiece allocate(std::size_t size, std::size_t alignment = 256) const;

    [[nodiscard]] std::size_t capacity() const;  // bytes as requested, in units of 256
    // Bytes in use by pieces, in whole lines, or in whole atoms of non-coherent memory.
    [[nodiscard]] std::size_t used() const;
    [[nodiscard]] std::size_t largest_free() const;
    [[nodiscard]] Device const& device() const { return device_; }

   private:
    Device device_;
    std::shared_ptr<detail::ArenaState> state_;
};

}  // namespace carillon
