// SPDX-License-Identifier: Apache-2.0
#include "guard/live_kernels.hpp"

namespace carillon::detail {

LiveKernels& live_kernels() noexcept {
    static constinit LiveKernels kernels;
    return kernels;
}

void LiveKernels::started(void* context) noexcept {
    ++count_;
    for (std::atomic<void*>& each : contexts_) {
        void* none = nullptr;
        if (each.compare_exchange_strong(none, context)) return;
    }
    ++others_;
}

void LiveKernels::ended(void* context) noexcept {
    --count_;
    for (std::atomic<void*>& each : contexts_) {
        void* expected = context;
        if (each.compare_exchange_strong(expected, nullptr)) return;
    }
    --others_;
}

bool LiveKernels::in(void const* context) const noexcept {
    if (!any()) return false;
    if (context == nullptr || others_.load() != 0) return true;
    for (std::atomic<void*> const& each : contexts_) {
        if (each.load() == context) return true;
    }
    return false;
}

}  // namespace carillon::detail
