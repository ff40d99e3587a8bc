// SPDX-License-Identifier: Apache-2.0
#include "device/residents.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "carillon/error.hpp"
#include "os/exit_hook.hpp"

namespace carillon::detail {
namespace {

// The longest time that a kernel, or new memory, waits for a free in progress.
constexpr std::chrono::seconds longest_free{10};

template <class T>
void push(std::unique_ptr<T>& list, std::unique_ptr<T> item) noexcept {
    item->next = std::move(list);
    list = std::move(item);
}

// One by one: destroying a whole list would recurse.
template <class T>
std::unique_ptr<T> pop(std::unique_ptr<T>& list) noexcept {
    std::unique_ptr<T> first = std::move(list);
    list = std::move(first->next);
    return first;
}

// Frees all of a list.
void free_each(std::unique_ptr<Allocation> list) noexcept {
    while (list != nullptr) free_or_keep(pop(list));
}

}  // namespace

void free_or_keep(std::unique_ptr<Allocation> allocation) noexcept {
    if (!process_exits()) return;
    try {
        keep_forever(std::move(allocation));
    } catch (std::bad_alloc const&) {
        (void)allocation.release();
    }
}

void Residents::adopt(std::unique_ptr<Execution> execution) noexcept {
    std::lock_guard const lock(mutex_);
    push(orphans_, std::move(execution));
}

// Without the lock: a kernel that is found to have ended calls kernel_ended() here.
void Residents::look_after_orphans() noexcept {
    std::unique_ptr<Execution> orphans;
    {
        std::lock_guard const lock(mutex_);
        orphans.swap(orphans_);
    }
    while (orphans != nullptr) {
        if (auto each = pop(orphans); !each->gone()) adopt(std::move(each));
    }
}

Residents::~Residents() {
    if (mark_.inherited()) {
        (void)orphans_.release();
        (void)retired_.release();
        return;
    }
    free_retired();
}

void Residents::retire(std::unique_ptr<Allocation> allocation) noexcept {
    look_after_orphans();
    bool now = false;
    {
        std::lock_guard const lock(mutex_);
        now = live_blocks_ == 0;
        if (now) ++frees_;
        if (!now) push(retired_, std::move(allocation));
    }
    if (now) {
        free_each(std::move(allocation));
        std::lock_guard const lock(mutex_);
        --frees_;
        freed_.notify_all();
    }
    free_what_is_retired();
}

void Residents::kernel_started(unsigned blocks, unsigned limit) {
    look_after_orphans();
    std::unique_lock lock(mutex_);
    check_room(blocks, limit);
    live_blocks_ += blocks;  // memory freed from now on waits for this kernel's end
    if (!freed_.wait_for(lock, longest_free, [this] { return frees_ == 0; })) {
        live_blocks_ -= blocks;
        throw TimeoutError(
            "memory is being freed, and the driver waits until every kernel on this GPU has ended; "
            "end the kernels outside this library, too");
    }
}

void Residents::require_room(unsigned blocks, unsigned limit) {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    check_room(blocks, limit);
}

void Residents::check_room(unsigned blocks, unsigned limit) const {
    unsigned const fit = limit > live_blocks_ ? limit - live_blocks_ : 0;
    if (blocks > fit) throw ResidencyError(blocks, fit);
}

void Residents::kernel_ended(unsigned blocks) {
    std::lock_guard const lock(mutex_);
    live_blocks_ -= blocks;
}

std::unique_ptr<Allocation> Residents::begin_to_free_retired() noexcept {
    std::lock_guard const lock(mutex_);
    bool const another_does = frees_retired_ != std::thread::id();
    if (live_blocks_ != 0 || another_does || retired_ == nullptr) return {};
    ++frees_;
    frees_retired_ = std::this_thread::get_id();
    return std::move(retired_);
}

// Without the lock: others call meanwhile.
void Residents::free_what_is_retired() noexcept {
    while (auto list = begin_to_free_retired()) {
        free_each(std::move(list));
        std::lock_guard const lock(mutex_);
        --frees_;
        frees_retired_ = {};
        freed_.notify_all();
    }
}

// The memory that another thread frees may be what this one needs, or registers anew. A free that
// leads here does not wait for itself.
void Residents::free_retired() noexcept {
    free_what_is_retired();
    std::unique_lock lock(mutex_);
    (void)freed_.wait_for(lock, longest_free, [this] {
        return frees_retired_ == std::thread::id() || frees_retired_ == std::this_thread::get_id();
    });
}

bool Residents::any() {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    return live_blocks_ != 0;
}

}  // namespace carillon::detail
