// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>

#include "carillon/core/config.hpp"

namespace carillon::test {

// A handler that throws: possible on the emulated device only.
struct RefusesSeven {
    CARILLON_HD int operator()(int const& value) const {
#if !defined(__CUDA_ARCH__)
        if (value == 7) throw std::domain_error("seven");
#endif
        return value;
    }
};

}  // namespace carillon::test
