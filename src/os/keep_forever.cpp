// SPDX-License-Identifier: Apache-2.0
#include "os/keep_forever.hpp"

#include <array>
#include <cstddef>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "os/process.hpp"

namespace carillon::detail {
namespace {

struct Kept {
    std::mutex mutex;
    std::vector<std::shared_ptr<void>> all;
};

}  // namespace

void keep_forever(std::shared_ptr<void> what) noexcept {
    try {
        Kept& kept = PerProcess<Kept>::get();
        std::lock_guard const lock(kept.mutex);
        kept.all.push_back(what);
    } catch (std::bad_alloc const&) {  // never destroyed either, but no leak checker finds it
        alignas(std::shared_ptr<void>) std::array<std::byte, sizeof(what)> place;
        new (place.data()) std::shared_ptr<void>(std::move(what));
    }
}

}  // namespace carillon::detail
