// SPDX-License-Identifier: Apache-2.0
#include "emulated/memfd_allocation.hpp"

#include <optional>

#include "carillon/detail/wire/config.hpp"
#include "error/sizes.hpp"
#include "os/shared_memory.hpp"

namespace carillon::detail {
namespace {

class MemfdAllocation final : public Allocation {
   public:
    explicit MemfdAllocation(std::size_t bytes) : of_host_(bytes) {
        size = bytes;
        host = of_host_.bytes().data();
        // The thread sanitizer follows addresses: it needs one mapping to see both sides of a ring.
        if (CARILLON_THREAD_SANITIZER == 0) of_device_.emplace(of_host_.descriptor(), bytes);
        device = of_device_ ? of_device_->get() : host;
    }

    FileDescriptor export_fd() const override { return of_host_.duplicate(); }

   private:
    SharedMemory of_host_;
    std::optional<SharedMapping> of_device_;
};

}  // namespace

std::unique_ptr<Allocation> allocate_memfd(std::size_t size) {
    require_machine_memory(size);
    return std::make_unique<MemfdAllocation>(size);
}

}  // namespace carillon::detail
