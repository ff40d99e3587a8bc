// SPDX-License-Identifier: Apache-2.0
// One block of mapped device memory, of which pieces are handed out: what the CPU can map of a
// GPU's memory may be little (its BAR), and an allocation of its own takes driver calls.
#pragma once

#include <cstddef>
#include <memory>

#include "carillon/device.hpp"
#include "carillon/memory.hpp"

namespace carillon {
namespace detail {
class ArenaState;
}

// A piece of an arena, which it gives back when it goes; it keeps the arena's memory alive. No
// kernel may use it any more by then: the next piece may lie there. Not zeroed.
class ArenaPiece {
   public:
    ArenaPiece() noexcept;  // none
    ArenaPiece(ArenaPiece&& other) noexcept;
    ArenaPiece& operator=(ArenaPiece&& other) noexcept;
    ArenaPiece(ArenaPiece const&) = delete;
    ArenaPiece& operator=(ArenaPiece const&) = delete;
    ~ArenaPiece();

    [[nodiscard]] void* host_ptr() const;        // as Memory::host_ptr
    [[nodiscard]] void* device_ptr() const;      // as Memory::device_ptr
    [[nodiscard]] std::size_t size() const;      // bytes, as asked for
    [[nodiscard]] std::size_t offset() const;    // from the arena's begin
    [[nodiscard]] Memory const& memory() const;  // the whole arena's

   private:
    friend class Arena;
    ArenaPiece(std::shared_ptr<detail::ArenaState> state, std::size_t offset, std::size_t size);
    void give_back() noexcept;

    std::shared_ptr<detail::ArenaState> state_;
    std::size_t offset_ = 0;
    std::size_t size_ = 0;
};

// Any thread may use an arena; it takes a lock, and is for setting up, not for hot paths.
class Arena {
   public:
    // Throws OutOfMemoryError with the heap's size, its budget and the BAR's size, UsageError for
    // a size of 0, and what else Device::allocate throws.
    Arena(Device const& device, std::size_t size);
    Arena(Arena const&) = default;  // and moves: a handle, copies share the memory
    Arena& operator=(Arena const&) = default;
    ~Arena() = default;

    // `alignment`: a power of two up to a page, 4096. Throws OutOfMemoryError when no gap is large
    // enough, UsageError; then nothing has changed.
    [[nodiscard]] ArenaPiece allocate(std::size_t size, std::size_t alignment = 256) const;

    [[nodiscard]] std::size_t capacity() const;  // what was asked for, in whole pieces of 256 bytes
    // Bytes that pieces take up, in whole lines, or whole atoms of non-coherent memory.
    [[nodiscard]] std::size_t used() const;
    [[nodiscard]] std::size_t largest_free() const;
    [[nodiscard]] Device const& device() const { return device_; }

   private:
    Device device_;
    std::shared_ptr<detail::ArenaState> state_;
};

}  // namespace carillon
