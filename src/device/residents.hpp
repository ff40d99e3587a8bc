// SPDX-License-Identifier: Apache-2.0
// The kernels that live on a device, and the memory that waits for their end.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "carillon/detail/host/process_mark.hpp"
#include "device/allocation.hpp"

namespace carillon::detail {

// The residents of one device, however often it is opened: its kernels' blocks, and memory whose
// free waits for their end. They are linked into lists: destructors add to them, which must not
// fail for lack of memory.
class Residents {
   public:
    Residents() = default;
    Residents& operator=(Residents&&) = delete;
    ~Residents();

    // Takes a kernel that its owner has abandoned, and looks for its end at every call here.
    void adopt(std::unique_ptr<Execution> execution) noexcept;
    // Frees `allocation` before it returns if no kernel lives here or is about to start, whoever
    // else frees; otherwise memory that comes or goes later frees it. A driver's free also waits
    // for the program's own kernels: nothing is freed in any other call, since its caller may have
    // a deadline.
    void retire(std::unique_ptr<Allocation> allocation) noexcept;
    // A kernel of `blocks` blocks, of at most `limit` that fit, has started or ended. The first
    // throws ResidencyError, and TimeoutError during a free, which would wait for this kernel's
    // end.
    void kernel_started(unsigned blocks, unsigned limit);
    void kernel_ended(unsigned blocks);
    // Throws only the ResidencyError.
    void require_room(unsigned blocks, unsigned limit);
    [[nodiscard]] bool any();  // kernel
    // Looks whether abandoned kernels have ended.
    void look_after_orphans() noexcept;
    // Frees retired memory, unless a kernel lives here, and waits a while for another thread that
    // does so. The driver may wait.
    void free_retired() noexcept;

   private:
    // require_room() under the lock.
    void check_room(unsigned blocks, unsigned limit) const;
    // The retired memory, unless a kernel lives here or another thread frees it.
    [[nodiscard]] std::unique_ptr<Allocation> begin_to_free_retired() noexcept;
    void free_what_is_retired() noexcept;

    ProcessMark mark_;
    std::mutex mutex_;
    std::condition_variable freed_;
    unsigned frees_ = 0;             // frees in progress
    std::thread::id frees_retired_;  // the thread that frees retired memory; none
    unsigned live_blocks_ = 0;       // includes those of kernels that are about to start
    std::unique_ptr<Execution> orphans_;
    std::unique_ptr<Allocation> retired_;
};

}  // namespace carillon::detail
