// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"
#include "exit_hook.hpp"
#include "keep_forever.hpp"

namespace carillon::detail {

void Backend::set_stores(HostStores stores) {
    if (!supported(stores.kind)) {
        throw UnsupportedError("Device::set_stores",
                               fmt::format("this CPU has no {} stores", to_string(stores.kind)));
    }
    stores_ = stores;
    info_.store_instruction = to_string(stores.kind);
    info_.publish_mode = to_string(stores.mode);
}

void Residents::adopt(std::unique_ptr<Execution> execution) {
    std::lock_guard const lock(mutex_);
    orphans_.push_back(std::move(execution));
}

// Without the lock: a kernel that is found to have ended says so here, by kernel_ended().
void Residents::look_after_orphans() {
    std::vector<std::unique_ptr<Execution>> orphans;
    {
        std::lock_guard const lock(mutex_);
        orphans.swap(orphans_);
    }
    std::erase_if(orphans, [](auto const& each) { return each->gone(); });
    std::lock_guard const lock(mutex_);
    for (auto& each : orphans) orphans_.push_back(std::move(each));
}

void Residents::retire(std::unique_ptr<Allocation> allocation) {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    retired_.push_back(std::move(allocation));
    free_retired();
}

void Residents::kernel_started(std::string_view call, unsigned blocks, unsigned limit) {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    unsigned const fit = limit > live_blocks_ ? limit - live_blocks_ : 0;
    if (blocks > fit) throw ResidencyError(call, blocks, fit);
    live_blocks_ += blocks;
}

void Residents::kernel_ended(unsigned blocks) {
    std::lock_guard const lock(mutex_);
    live_blocks_ -= blocks;
    free_retired();
}

// Its driver may have gone when a process exits.
void Residents::free_retired() {
    if (live_blocks_ != 0) return;
    if (process_exits()) {
        for (auto& each : retired_) keep_forever(std::move(each));
    }
    retired_.clear();
}

bool Residents::any() {
    look_after_orphans();
    std::lock_guard const lock(mutex_);
    return live_blocks_ != 0;
}

}  // namespace carillon::detail
