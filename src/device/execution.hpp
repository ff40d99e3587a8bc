// SPDX-License-Identifier: Apache-2.0
// The base of each backend's running kernel. A RunningKernel owns one.
#pragma once

#include <memory>

namespace carillon::detail {

// A started kernel. Destroying one that has not finished leaves it running.
class Execution {
   public:
    virtual ~Execution() = default;
    std::unique_ptr<Execution> next;  // while it is an orphan

    // Whether every block has returned. Throws the error that ended the kernel, if there is one.
    [[nodiscard]] virtual bool finished() = 0;
    // Whether no block runs any more, however the kernel ended; does not throw.
    [[nodiscard]] virtual bool gone() noexcept = 0;
};

}  // namespace carillon::detail
