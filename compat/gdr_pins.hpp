// SPDX-License-Identifier: Apache-2.0
// The table of pinned memory, by handle. gdrcopy's copies get the handle only, and find the memory
// without a lock.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "carillon/compat/gdrapi.h"
#include "carillon/memory.hpp"
#include "forks.hpp"
#include "held.hpp"

namespace carillon::compat {

// A range of device memory that is pinned, and mapped between gdr_map and gdr_unmap.
struct Pinned {
    gdr* of = nullptr;
    std::uint64_t va = 0;
    std::size_t size = 0;       // bytes
    std::byte* host = nullptr;  // the CPU's address of va
    bool write_combining = false;
    std::size_t mapped = 0;  // bytes from va on; 0: none

    Memory own{};  // the mapping, of what CUDA gave
    Held held{};   // of Carillon's
    Maker maker{};

    [[nodiscard]] std::size_t whole_pages() const {
        return ((va + size + GPU_PAGE_OFFSET) & GPU_PAGE_MASK) - (va & GPU_PAGE_MASK);
    }
    // Whole pages are mapped, as gdrcopy does: its own pplat copies 8 bytes into a mapping of 4.
    [[nodiscard]] std::size_t reach() const {
        return std::min(size, (mapped + GPU_PAGE_OFFSET) & GPU_PAGE_MASK);
    }
    [[nodiscard]] bool maps(void const* where, std::size_t bytes) const {
        auto const offset = static_cast<std::size_t>(static_cast<std::byte const*>(where) - host);
        return offset <= reach() && bytes <= reach() - offset;
    }
};

// No handle is given twice, so that the use of an unpinned one is an error.
class PinTable {
   public:
    // The process's table. It is never destroyed: a copy may run while the process ends.
    static PinTable& get() {
        static auto* const table = new PinTable;
        return *table;
    }

    // Throws std::bad_alloc for the 2^20th at a time.
    [[nodiscard]] unsigned long add(Pinned pinned) {
        std::lock_guard const lock(process_lock);
        std::size_t const index = free_index();
        Slot& slot = (*chunks_[index / per_chunk])[index % per_chunk];
        slot.pinned = std::move(pinned);
        unsigned long const handle = ++given_ << index_bits | index;
        slot.handle.store(handle, std::memory_order_release);
        return handle;
    }
    // nullptr for none.
    [[nodiscard]] Pinned* find(unsigned long handle) {
        Slot* const slot = slot_of(handle);
        return slot == nullptr ? nullptr : &slot->pinned;
    }
    // Releases the memory that the handle holds. Returns false if there is no such handle.
    bool remove(unsigned long handle) {
        Pinned last;  // goes without the lock
        std::lock_guard const lock(process_lock);
        Slot* const slot = slot_of(handle);
        if (slot == nullptr) return false;
        slot->handle.store(0, std::memory_order_relaxed);
        last = std::exchange(slot->pinned, {});
        free_.push_back(handle & (most - 1));
        return true;
    }

   private:
    static constexpr unsigned index_bits = 20;
    static constexpr std::size_t most = std::size_t{1} << index_bits;
    static constexpr std::size_t per_chunk = 256;
    struct Slot {
        std::atomic<unsigned long> handle = 0;  // 0: free
        Pinned pinned;
    };
    using Chunk = std::array<Slot, per_chunk>;

    [[nodiscard]] Slot* slot_of(unsigned long handle) {
        std::size_t const index = handle & (most - 1);
        Chunk* const chunk = chunks_[index / per_chunk].load(std::memory_order_acquire);
        if (chunk == nullptr || handle == 0) return nullptr;
        Slot& slot = (*chunk)[index % per_chunk];
        return slot.handle.load(std::memory_order_acquire) == handle ? &slot : nullptr;
    }
    [[nodiscard]] std::size_t free_index() {
        if (!free_.empty()) {
            std::size_t const index = free_.back();
            free_.pop_back();
            return index;
        }
        if (used_ == most) throw std::bad_alloc();
        free_.reserve(used_ + 1);  // remove() fails for nothing
        if (used_ % per_chunk == 0) chunks_[used_ / per_chunk] = new Chunk;
        return used_++;
    }

    std::array<std::atomic<Chunk*>, most / per_chunk> chunks_{};
    std::vector<std::size_t> free_;
    std::size_t used_ = 0;
    unsigned long given_ = 0;
};

}  // namespace carillon::compat
