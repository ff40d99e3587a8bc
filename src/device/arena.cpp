// SPDX-License-Identifier: Apache-2.0
#include "carillon/arena.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/error.hpp"
#include "device/backend.hpp"
#include "error/sizes.hpp"

namespace carillon {
namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t largest_atom = 256;  // Vulkan's limit for nonCoherentAtomSize

std::size_t round_up(std::size_t size, std::size_t to) { return (size + to - 1) / to * to; }

std::string or_unknown(std::optional<std::uint64_t> const& bytes) {
    return bytes ? fmt::format("{}", *bytes) : std::string("unknown");
}

void check(std::size_t size, std::size_t alignment) {
    if (size == 0) throw UsageError("0 bytes requested");
    if (!std::has_single_bit(alignment) || alignment > page) {
        throw UsageError(
            fmt::format("an alignment of {} is not a power of two up to {}", alignment, page));
    }
}

}  // namespace

void detail::require_budget(DeviceInfo const& info, std::size_t size) {
    if (info.memory_type < 0) return;  // no heaps are known: the allocation will tell
    unsigned const index = info.memory_types.at(static_cast<std::size_t>(info.memory_type)).heap;
    HeapInfo const& heap = info.heaps.at(index);
    std::uint64_t const no_limit = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t const most =
        std::min({heap.size, heap.budget.value_or(no_limit), info.bar_size.value_or(no_limit)});
    if (size <= most) return;
    throw OutOfMemoryError(
        fmt::format("{} bytes requested, but the heap has {} (budget {}, BAR {})", size, heap.size,
                    or_unknown(heap.budget), or_unknown(info.bar_size)));
}

// First fit over all blocks, free or not, in the order of their offsets: giving one back needs no
// memory and cannot fail.
class detail::ArenaState {
   public:
    explicit ArenaState(Memory memory)
        : memory_(std::move(memory)),
          granule_(std::max(sizeof(detail::Line), memory_.atom_size())) {
        blocks_.emplace(0, Block{memory_.size(), true});
    }

    [[nodiscard]] Memory const& memory() const { return memory_; }

    [[nodiscard]] ProcessMark const& mark() const { return mark_; }

    std::size_t take(std::size_t size, std::size_t alignment) {
        std::lock_guard const lock(mutex_);
        std::size_t const step = std::max(alignment, granule_);
        if (size <= memory_.size()) {
            std::size_t const whole = round_up(size, granule_);
            for (auto block = blocks_.begin(); block != blocks_.end(); ++block) {
                std::size_t const begin = round_up(block->first, step);
                if (!block->second.free || begin + whole > end(block)) continue;
                block = split(block, begin);
                split(block, begin + whole);
                block->second.free = false;
                used_ += whole;
                return begin;
            }
        }
        throw OutOfMemoryError(fmt::format(
            "{} bytes requested, aligned to {}: {} of {} are free, at most {} contiguous", size,
            alignment, memory_.size() - used_, memory_.size(), largest()));
    }

    void give_back(std::size_t offset) noexcept {
        std::lock_guard const lock(mutex_);
        auto block = blocks_.find(offset);
        block->second.free = true;
        used_ -= block->second.size;
        if (block != blocks_.begin() && std::prev(block)->second.free) --block;
        for (auto next = std::next(block); next != blocks_.end() && next->second.free;) {
            block->second.size += next->second.size;
            next = blocks_.erase(next);
        }
    }

    [[nodiscard]] std::size_t used() const {
        std::lock_guard const lock(mutex_);
        return used_;
    }
    [[nodiscard]] std::size_t largest_free() const {
        std::lock_guard const lock(mutex_);
        return largest();
    }

   private:
    struct Block {
        std::size_t size;
        bool free;
    };
    using Blocks = std::map<std::size_t, Block>;  // by offset

    static std::size_t end(Blocks::iterator block) { return block->first + block->second.size; }

    // Splits a free block at `at`, and returns the second part unless it is empty.
    Blocks::iterator split(Blocks::iterator block, std::size_t at) {
        if (at == block->first || at == end(block)) return block;
        auto const rest = blocks_.emplace_hint(std::next(block), at, Block{end(block) - at, true});
        block->second.size = at - block->first;
        return rest;
    }

    [[nodiscard]] std::size_t largest() const {
        std::size_t most = 0;
        for (auto const& [offset, block] : blocks_) {
            if (block.free) most = std::max(most, block.size);
        }
        return most;
    }

    ProcessMark mark_;
    Memory memory_;
    std::size_t granule_;  // pieces share no line and no atom
    mutable std::mutex mutex_;
    Blocks blocks_;
    std::size_t used_ = 0;
};

ArenaPiece::ArenaPiece() noexcept = default;

ArenaPiece::ArenaPiece(std::shared_ptr<detail::ArenaState> state, std::size_t offset,
                       std::size_t size)
    : state_(std::move(state)), offset_(offset), size_(size) {}
ArenaPiece::ArenaPiece(ArenaPiece&& other) noexcept = default;

ArenaPiece& ArenaPiece::operator=(ArenaPiece&& other) noexcept {
    if (this != &other) {
        give_back();
        state_ = std::move(other.state_);
        offset_ = other.offset_;
        size_ = other.size_;
    }
    return *this;
}

ArenaPiece::~ArenaPiece() { give_back(); }

void ArenaPiece::give_back() noexcept {
    if (state_ && !state_->mark().inherited()) state_->give_back(offset_);
    state_.reset();
}

void* ArenaPiece::host_ptr() const {
    return state_ ? static_cast<std::byte*>(state_->memory().host_ptr()) + offset_ : nullptr;
}
void* ArenaPiece::device_ptr() const {
    return state_ ? static_cast<std::byte*>(state_->memory().device_ptr()) + offset_ : nullptr;
}
std::size_t ArenaPiece::size() const { return state_ ? size_ : 0; }
std::size_t ArenaPiece::offset() const { return state_ ? offset_ : 0; }

Memory const& ArenaPiece::memory() const {
    static auto const& none = *new Memory;  // never destroyed: static pieces go later
    return state_ ? state_->memory() : none;
}

Arena::Arena(Device const& device, std::size_t size) try : device_(device) {
    detail::require_budget(device.info(), size);
    detail::require_addressable(size);
    state_ = std::make_shared<detail::ArenaState>(device.allocate(round_up(size, largest_atom)));
} catch (...) {
    detail::throw_named("Arena");
}

ArenaPiece Arena::allocate(std::size_t size, std::size_t alignment) const {
    return detail::in_call("Arena::allocate", state_->mark(), [&] {
        check(size, alignment);
        return ArenaPiece(state_, state_->take(size, alignment), size);
    });
}

std::size_t Arena::capacity() const { return state_->memory().size(); }
std::size_t Arena::used() const {
    return detail::in_call("Arena::used", state_->mark(), [&] { return state_->used(); });
}
std::size_t Arena::largest_free() const {
    return detail::in_call("Arena::largest_free", state_->mark(),
                           [&] { return state_->largest_free(); });
}

}  // namespace carillon
