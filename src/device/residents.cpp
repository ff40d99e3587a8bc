// SPDX-License-Identifier: Apache-2.0
#include "device/residents.hpp"

#include <chrono>
#include <new>
#include <utility>

#include "carillon/error.hpp"
#include "os/exit_hook.hpp"
#include "os/keep_forever.hpp"

namespace carillon::detail {
namespace {

// A kernel may wait so long for a free that is under way before it starts.
constexpr std::chrono::seconds longest_free{10};

template <class T>
void push(std::unique_ptr<T>& list, std::unique_ptr<T> item) noexcept {
    item->next = std::move(list);
    list = std::move(item);
}

// One by one: a list that is destroyed as a whole is so by recursion.
template <class T>
std::unique_ptr<T> pop(std::unique_ptr<T>& list) noexcept {
    std::unique_ptr<T> first = std::move(list);
    list = std::move(first->next);
    return first;
}

void keep(std::unique_ptr<Allocation> allocation) noexcept {
    try {
        keep_forever(std::move(allocation));
    } catch (std::bad_alloc const&) {
        (void)allocation.release();
    }
}

}  // namespace

void Residents::adopt(std::unique_ptr<Execution> execution) noexcept {
    std::lock_guard const lock(mutex_);
    push(orphans_, std::move(execution));
}

// Without the lock: a kernel that is found to have ended says so here, by kernel_ended().
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
    {
        std::lock_guard const lock(mutex_);
        push(retired_, std::move(allocation));
    }
    free_retired();
}

void Residents::kernel_started(std::string_view call, unsigned blocks, unsigned limit) {
    look_after_orphans();
    std::unique_lock lock(mutex_);
    if (!freed_.wait_for(lock, longest_free, [this] { return !freeing_; })) {
        throw TimeoutError(call,
                           "memory is being freed, for which the driver waits until every kernel "
                           "on this GPU has ended, those of this program's own too");
    }
    check_room(call, blocks, limit);
    live_blocks_ += blocks;
}

void Residents::require_room(std::string_view call, unsigned blocks, unsigned limit) {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    check_room(call, blocks, limit);
}

void Residents::check_room(std::string_view call, unsigned blocks, unsigned limit) const {
    unsigned const fit = limit > live_blocks_ ? limit - live_blocks_ : 0;
    if (blocks > fit) throw ResidencyError(call, blocks, fit);
}

void Residents::kernel_ended(unsigned blocks) {
    std::lock_guard const lock(mutex_);
    live_blocks_ -= blocks;
}

std::unique_ptr<Allocation> Residents::begin_to_free() noexcept {
    std::lock_guard const lock(mutex_);
    if (live_blocks_ != 0 || freeing_) return {};
    freeing_ = retired_ != nullptr;
    return std::move(retired_);
}

// Without the lock: others ask, and answer, meanwhile. What they retire is freed by this thread.
void Residents::free_retired() noexcept {
    while (auto list = begin_to_free()) {
        while (list != nullptr) {
            auto each = pop(list);
            if (process_exits()) keep(std::move(each));  // its driver may have gone
        }
        std::lock_guard const lock(mutex_);
        freeing_ = false;
        freed_.notify_all();
    }
}

bool Residents::any() {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    return live_blocks_ != 0;
}

}  // namespace carillon::detail
