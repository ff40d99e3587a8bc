// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string_view>

#include "carillon/detail/host/process_mark.hpp"
#include "device/allocation.hpp"
#include "device/execution.hpp"

namespace carillon::detail {

// What lives on one device, however often it is opened: its kernels' blocks, and memory whose free
// waits for their end. What it keeps is linked to what it kept before: destructors bring it, which
// cannot fail for want of memory.
class Residents {
   public:
    Residents() = default;
    Residents(Residents const&) = delete;
    Residents& operator=(Residents const&) = delete;
    ~Residents();

    // Looks for the end of a kernel that its owner has left behind, whenever something is asked
    // here.
    void adopt(std::unique_ptr<Execution> execution) noexcept;
    // Frees `allocation` if no kernel lives here; otherwise the next memory that comes or goes
    // does. A driver's free waits for kernels of the program's own too: nothing is freed in any
    // other call, whoever asks something until a deadline.
    void retire(std::unique_ptr<Allocation> allocation) noexcept;
    // A kernel of `blocks` blocks, of at most `limit` that fit, has started or ended. The first
    // throws ResidencyError, and TimeoutError while something is being freed: the free would wait
    // for this kernel's end.
    void kernel_started(std::string_view call, unsigned blocks, unsigned limit);
    void kernel_ended(unsigned blocks);
    // Throws the ResidencyError alone.
    void require_room(std::string_view call, unsigned blocks, unsigned limit);
    [[nodiscard]] bool any();  // kernel
    // Looks whether kernels that were left behind have ended since.
    void look_after_orphans() noexcept;
    // Frees what is retired, unless a kernel lives here. The driver may wait.
    void free_retired() noexcept;

   private:
    // The same with the lock.
    void check_room(std::string_view call, unsigned blocks, unsigned limit) const;
    // What is retired, unless a kernel lives here or another thread frees; and whether there is
    // any.
    [[nodiscard]] std::unique_ptr<Allocation> begin_to_free() noexcept;

    ProcessMark mark_;
    std::mutex mutex_;
    std::condition_variable freed_;
    bool freeing_ = false;
    unsigned live_blocks_ = 0;
    std::unique_ptr<Execution> orphans_;
    std::unique_ptr<Allocation> retired_;
};

}  // namespace carillon::detail
