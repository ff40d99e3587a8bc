// SPDX-License-Identifier: Apache-2.0
// The base of each backend's running kernel. A RunningKernel owns one.
#pragma once

#include <memory>

namespace carillon::detail {

// A kernel on its way. Destroying one that has not finished leaves it running.
class Execution {
   public:
    virtual ~Execution() = default;
    std::unique_ptr<Execution> next;  // while it is an orphan

    // Whether every block has returned. Throws what ended the kernel, if something else did.
    [[nodiscard]] virtual bool finished() = 0;
    // Whether nothing of it runs any more, however it ended; does not throw.
    [[nodiscard]] virtual bool gone() noexcept = 0;
};

}  // namespace carillon::detail
