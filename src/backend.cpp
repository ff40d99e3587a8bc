// SPDX-License-Identifier: Apache-2.0
#include "backend.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"

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

void Residents::retire(std::unique_ptr<Allocation> allocation) {
    std::lock_guard const lock(mutex_);
    if (live_blocks_ != 0) retired_.push_back(std::move(allocation));
}

void Residents::kernel_started(std::string_view call, unsigned blocks, unsigned limit) {
    std::lock_guard const lock(mutex_);
    unsigned const fit = limit > live_blocks_ ? limit - live_blocks_ : 0;
    if (blocks > fit) throw ResidencyError(call, blocks, fit);
    live_blocks_ += blocks;
}

void Residents::kernel_ended(unsigned blocks) {
    std::vector<std::unique_ptr<Allocation>> free_now;
    std::lock_guard const lock(mutex_);
    live_blocks_ -= blocks;
    if (live_blocks_ == 0) free_now.swap(retired_);
}

}  // namespace carillon::detail
