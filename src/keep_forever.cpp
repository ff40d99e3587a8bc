// SPDX-License-Identifier: Apache-2.0
#include "keep_forever.hpp"

#include <mutex>
#include <utility>
#include <vector>

namespace carillon::detail {

void keep_forever(std::shared_ptr<void> what) noexcept {
    static std::mutex mutex;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
    static auto& kept = *new std::vector<std::shared_ptr<void>>;
    std::lock_guard const lock(mutex);
    kept.push_back(std::move(what));
}

}  // namespace carillon::detail
