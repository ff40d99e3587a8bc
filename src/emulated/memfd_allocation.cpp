// SPDX-License-Identifier: Apache-2.0
#include "emulated/memfd_allocation.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <optional>

#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "error/sizes.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

class Mapping {
   public:
    Mapping(int fd, std::size_t size)
        : size_(size), where_(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0)) {
        if (where_ == MAP_FAILED) throw SystemError("mmap", errno);
        constexpr std::size_t page = 4096;  // the rest of the last one is the mapping's too
        keep_from_children(where_, (size + page - 1) / page * page);
    }
    ~Mapping() { ::munmap(where_, size_); }
    Mapping(Mapping const&) = delete;
    Mapping& operator=(Mapping const&) = delete;

    [[nodiscard]] void* get() const { return where_; }

   private:
    std::size_t size_;
    void* where_;
};

FileDescriptor make_memfd(std::size_t bytes) {
    FileDescriptor fd(::memfd_create("carillon", MFD_CLOEXEC));
    if (fd.get() < 0) throw SystemError("memfd_create", errno);
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
        throw SystemError("ftruncate", errno);
    }
    return fd;
}

class MemfdAllocation final : public Allocation {
   public:
    explicit MemfdAllocation(std::size_t bytes)
        : fd_(make_memfd(bytes)), of_host_(fd_.get(), bytes) {
        size = bytes;
        host = of_host_.get();
        // The thread sanitizer follows addresses: with one mapping it sees both sides of a ring.
        if (CARILLON_THREAD_SANITIZER == 0) of_device_.emplace(fd_.get(), bytes);
        device = of_device_ ? of_device_->get() : host;
    }

    FileDescriptor export_fd() const override { return fd_.duplicate(); }

   private:
    FileDescriptor fd_;
    Mapping of_host_;
    std::optional<Mapping> of_device_;
};

}  // namespace

std::unique_ptr<Allocation> allocate_memfd(std::string_view call, std::size_t size) {
    require_machine_memory(call, size);
    return std::make_unique<MemfdAllocation>(size);
}

}  // namespace carillon::detail
