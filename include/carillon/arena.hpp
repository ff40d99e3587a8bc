// SPDX-License-Identifier: Apache-2.0
// One block of mapped device memory, handed out in pieces. The CPU may be able to map only little
// of a GPU's memory (its BAR), and each allocation of its own takes driver calls.
#pragma once

#include <cstddef>
#include <memory>

#include "carillon/device.hpp"

namespace carillon {
namespace detail {
class ArenaState;
}

// A piece of an arena, given back by its destructor; it keeps the arena's memory alive. No kernel
// may use a piece that was given back: the next piece may lie there. The bytes are not zeroed.
class ArenaPiece {
   public:
    ArenaPiece() noexcept;  // none
    ArenaPiece(ArenaPiece&& other) noexcept;
    ArenaPiece& operator=(ArenaPiece&& other) noexcept;
    ~ArenaPiece();

    [[nodiscard]] void* host_ptr() const;        // see Memory::host_ptr
    [[nodiscard]] void* device_ptr() const;      // see Memory::device_ptr
    [[nodiscard]] std::size_t size() const;      // bytes, as asked for
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

// Any thread may use an arena. It takes a lock: it is for setup, not for hot paths.
class Arena {
   public:
    // Throws OutOfMemoryError with the heap's size, its budget and the BAR's size, UsageError for
    // a size of 0, and what else Device::allocate throws.
    Arena(Device const& device, std::size_t size);
    Arena(Arena const&) = default;  // and moves: a handle, copies share the memory
    Arena& operator=(Arena const&) = default;
    ~Arena() = default;

    // `alignment` is a power of two up to 4096, a page. Throws OutOfMemoryError if no gap is large
    // enough, and UsageError; a call that throws changes nothing.
    [[nodiscard]] ArenaPiece allocate(std::size_t size, std::size_t alignment = 256) const;

    [[nodiscard]] std::size_t capacity() const;  // what was asked for, in whole pieces of 256 bytes
    // Bytes that pieces take up, in whole lines, or in whole atoms of non-coherent memory.
    [[nodiscard]] std::size_t used() const;
    [[nodiscard]] std::size_t largest_free() const;
    [[nodiscard]] Device const& device() const { return device_; }

   private:
    Device device_;
    std::shared_ptr<detail::ArenaState> state_;
};

}  // namespace carillon
