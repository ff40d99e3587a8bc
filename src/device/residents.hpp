// SPDX-License-Identifier: Apache-2.0
// The kernels that live on a device, and what has to wait for their end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

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
    // Frees `allocation` before it returns, whoever else frees, if no kernel lives here, or is
    // about to start; otherwise the next memory that comes or goes does. A driver's free waits for
    // kernels of the program's own too: nothing is freed in any other call, whoever asks something
    // until a deadline.
    void retire(std::unique_ptr<Allocation> allocation) noexcept;
    // A kernel of `blocks` blocks, of at most `limit` that fit, has started or ended. The first
    // throws ResidencyError, and TimeoutError while something is being freed: the free would wait
    // for this kernel's end.
    void kernel_started(unsigned blocks, unsigned limit);
    void kernel_ended(unsigned blocks);
    // Throws the ResidencyError alone.
    void require_room(unsigned blocks, unsigned limit);
    [[nodiscard]] bool any();  // kernel
    // Looks whether kernels that were left behind have ended since.
    void look_after_orphans() noexcept;
    // Frees what is retired, unless a kernel lives here, and waits a while for another thread that
    // does. The driver may wait.
    void free_retired() noexcept;

   private:
    // The same with the lock.
    void check_room(unsigned blocks, unsigned limit) const;
    // Whether it may be freed now; otherwise it is retired.
    [[nodiscard]] bool begin_to_free(std::unique_ptr<Allocation>& allocation) noexcept;
    // What is retired, unless a kernel lives here or another thread frees it.
    [[nodiscard]] std::unique_ptr<Allocation> begin_to_free_retired() noexcept;
    void free_what_is_retired() noexcept;

    ProcessMark mark_;
    std::mutex mutex_;
    std::condition_variable freed_;
    unsigned frees_ = 0;             // under way
    std::thread::id frees_retired_;  // the thread that frees what was retired; none
    unsigned live_blocks_ = 0;       // those of kernels that are about to start, too
    std::unique_ptr<Execution> orphans_;
    std::unique_ptr<Allocation> retired_;
};

}  // namespace carillon::detail
