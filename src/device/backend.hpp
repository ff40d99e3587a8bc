// SPDX-License-Identifier: Apache-2.0
// What a device has to do. To add one: implement Backend, and name it in device.cpp.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>

#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/access/range_sync.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/device_info.hpp"
#include "carillon/file_descriptor.hpp"

namespace carillon::detail {

// One block of memory, freed by the destructor.
class Allocation : public RangeSync {
   public:
    virtual ~Allocation() = default;
    void* host = nullptr;
    void* device = nullptr;
    std::size_t size = 0;
    bool coherent = true;
    std::size_t atom_size = 1;
    std::unique_ptr<Allocation> next;  // while it is retired

    void flush(void const* /*where*/, std::size_t /*size*/) const override {}
    void invalidate(void const* /*where*/, std::size_t /*size*/) const override {}
    [[nodiscard]] virtual FileDescriptor export_fd() const = 0;
};

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
    [[nodiscard]] bool any();  // kernel
    // Looks whether kernels that were left behind have ended since.
    void look_after_orphans() noexcept;
    // Frees what is retired, unless a kernel lives here. The driver may wait.
    void free_retired() noexcept;

   private:
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

// Throws UnsupportedError, in the name of `call`, where this CPU lacks the instruction.
void require_supported(std::string_view call, HostStores stores);

class Backend : public std::enable_shared_from_this<Backend> {
   public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate(std::size_t size) = 0;
    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate_host(std::size_t size) = 0;
    // Starts `blocks` blocks of the program. Throws ResidencyError if they do not fit beside the
    // kernels that are running.
    [[nodiscard]] virtual std::unique_ptr<Execution> start(Program const& program,
                                                           unsigned blocks) = 0;

    [[nodiscard]] DeviceInfo const& info() const { return info_; }
    [[nodiscard]] HostStores stores() const { return stores_; }
    void set_stores(HostStores stores);
    void set_data_order(DataOrder order) { info_.data_order = order; }
    void explain_emulated(std::string why) { info_.why_emulated = std::move(why); }

    [[nodiscard]] Residents& residents() { return *residents_; }
    [[nodiscard]] ProcessMark const& mark() const { return mark_; }

   protected:
    explicit Backend(std::shared_ptr<Residents> residents) : residents_(std::move(residents)) {}

    DeviceInfo info_;
    HostStores stores_;

   private:
    ProcessMark mark_;
    std::shared_ptr<Residents> residents_;
};

}  // namespace carillon::detail
