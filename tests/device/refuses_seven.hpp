// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "carillon/detail/wire/config.hpp"

namespace carillon::test {

// A handler that throws at 7 and takes long over 8: on the emulated device only.
struct RefusesSeven {
    static inline std::atomic<int> long_requests_begun = 0;
    static inline std::atomic<int> long_requests_done = 0;

    CARILLON_HD int operator()(int const& value) const {
#if !defined(__CUDA_ARCH__)
        if (value == 7) throw std::domain_error("seven");
        if (value == 8) {
            ++long_requests_begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(200));
            ++long_requests_done;
        }
#endif
        return value;
    }
};

}  // namespace carillon::test
