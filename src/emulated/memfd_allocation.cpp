// SPDX-License-Identifier: Apache-2.0
#include "emulated/memfd_allocation.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "carillon/core/config.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {
namespace {

void* map(int fd, std::size_t size) {
    void* const where = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (where == MAP_FAILED) throw SystemError("mmap", errno);
    return where;
}

class MemfdAllocation final : public Allocation {
   public:
    explicit MemfdAllocation(std::size_t bytes) : fd_(::memfd_create("carillon", MFD_CLOEXEC)) {
        if (fd_.get() < 0) throw SystemError("memfd_create", errno);
        if (::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) {
            throw SystemError("ftruncate", errno);
        }
        size = bytes;
        host = map(fd_.get(), size);
        // The thread sanitizer follows addresses: with one mapping it sees both sides of a ring.
        device = CARILLON_THREAD_SANITIZER != 0 ? host : map(fd_.get(), size);
    }

    ~MemfdAllocation() override {
        if (device != nullptr && device != host) ::munmap(device, size);
        if (host != nullptr) ::munmap(host, size);
    }
    MemfdAllocation(MemfdAllocation const&) = delete;
    MemfdAllocation& operator=(MemfdAllocation const&) = delete;

    FileDescriptor export_fd() const override { return fd_.duplicate(); }

   private:
    FileDescriptor fd_;
};

}  // namespace

std::unique_ptr<Allocation> allocate_memfd(std::string_view call, std::size_t size) {
    auto const machine = static_cast<std::size_t>(::sysconf(_SC_PHYS_PAGES)) *
                         static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    if (size > machine) {
        throw OutOfMemoryError(call,
                               fmt::format("{} bytes asked for on a machine of {}", size, machine));
    }
    return std::make_unique<MemfdAllocation>(size);
}

}  // namespace carillon::detail
