// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/kernel/program.hpp"

#include <mutex>

#include "os/process.hpp"

namespace carillon::detail {
namespace {

// Constants need no constructor: kernels are made before main(), in any order.
constinit KnownKernel* last_known = nullptr;
constinit std::uint64_t known_so_far = 0;

}  // namespace

KnownKernel::KnownKernel(Function made_of) noexcept : function_(made_of) {
    std::lock_guard const lock(ForkMutex<KnownKernel>::get());
    // NOLINTBEGIN(cppcoreguidelines-prefer-member-initializer): the lock comes first
    number_ = ++known_so_far;
    before_ = last_known;
    // NOLINTEND(cppcoreguidelines-prefer-member-initializer)
    if (before_ != nullptr) before_->after_ = this;
    last_known = this;
}

KnownKernel::~KnownKernel() {
    std::lock_guard const lock(ForkMutex<KnownKernel>::get());
    if (before_ != nullptr) before_->after_ = after_;
    (after_ != nullptr ? after_->before_ : last_known) = before_;
}

std::vector<KnownKernel::Function> KnownKernel::all() {
    std::lock_guard const lock(ForkMutex<KnownKernel>::get());
    std::vector<Function> functions;
    for (KnownKernel const* each = last_known; each != nullptr; each = each->before_) {
        functions.push_back(each->function_);
    }
    return functions;
}

std::uint64_t KnownKernel::last_number() {
    std::lock_guard const lock(ForkMutex<KnownKernel>::get());
    return known_so_far;
}

}  // namespace carillon::detail
