// SPDX-License-Identifier: Apache-2.0
#include "os/shared_memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "carillon/error.hpp"
#include "os/own_descriptor.hpp"
#include "os/process.hpp"

namespace carillon::detail {

void require_file_size(std::string_view call, std::size_t size) {
    ::rlimit limit{};
    if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur) return;
    throw SystemError(call, EFBIG,
                      fmt::format("{} bytes requested, but files and shared memory of this process "
                                  "may have {} (RLIMIT_FSIZE, ulimit -f)",
                                  size, limit.rlim_cur));
}

namespace {

constexpr int size_seals = F_SEAL_SHRINK | F_SEAL_GROW;

FileDescriptor make_memfd(std::size_t size, int seals) {
    FileDescriptor file(::memfd_create("carillon", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    if (file.get() < 0) throw SystemError("memfd_create", errno);
    require_file_size("ftruncate", size);
    if (::ftruncate(file.get(), static_cast<off_t>(size)) != 0) {
        throw SystemError("ftruncate", errno);
    }
    if (::fcntl(file.get(), F_ADD_SEALS, size_seals | seals) != 0) {
        throw SystemError("fcntl(F_ADD_SEALS)", errno);
    }
    return file;
}

// No fork may come in between: a child that had it for a moment would have it for its life.
void* mapped(int fd, std::size_t size, int access, int more_flags) {
    ForksLater const alone;
    void* const where = ::mmap(nullptr, size, access, MAP_SHARED | more_flags, fd, 0);
    if (where == MAP_FAILED) throw SystemError("mmap", errno);
    keep_mapping_from_children(where, size);
    return where;
}

FileDescriptor checked(FileDescriptor file, std::size_t announced) {
    require_shared_memory(file, announced);
    return file;
}

}  // namespace

FileDescriptor new_sealable_memory(std::size_t size) { return make_memfd(size, 0); }

bool seal_against_writing(FileDescriptor const& file) {
    if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL) == 0) return true;
    // EPERM: a process that could write has sealed it before, or made sure that nobody can.
    if (errno == EBUSY || errno == EPERM) return is_sealed_against_writing(file);
    throw SystemError("fcntl(F_ADD_SEALS)", errno);
}

bool is_sealed_against_writing(FileDescriptor const& file) noexcept {
    int const seals = ::fcntl(file.get(), F_GET_SEALS, 0);
    return seals >= 0 && (seals & F_SEAL_WRITE) != 0;
}

void seal_against_new_writers(FileDescriptor const& file) {
    if (::fcntl(file.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) == 0) return;
    if (errno != EINVAL) throw SystemError("fcntl(F_ADD_SEALS)", errno);
    throw UnsupportedError(
        "fcntl(F_ADD_SEALS)",
        "this system cannot seal memory against new writers: it needs Linux 5.1");
}

void require_shared_memory(FileDescriptor const& file, std::size_t size) {
    // The seals first: with them the size that is read afterwards stays.
    int const seals = ::fcntl(file.get(), F_GET_SEALS, 0);  // -1 for anything but a memfd
    if (seals < 0 || (seals & size_seals) != size_seals) {
        throw UsageError("the descriptor is not sealed shared memory");
    }
    struct stat found {};
    if (::fstat(file.get(), &found) != 0) throw SystemError("fstat", errno);
    auto const bytes = static_cast<std::size_t>(found.st_size);
    if (bytes != size || bytes == 0) {
        throw UsageError(
            fmt::format("the shared memory has {} bytes, not the announced {}", bytes, size));
    }
}

SharedMapping::SharedMapping(FileDescriptor const& file, std::size_t size, MapAccess access)
    : size_(size),
      where_(mapped(file.get(), size,
                    access == MapAccess::read ? PROT_READ : PROT_READ | PROT_WRITE, 0)) {}

SharedMapping::SharedMapping(std::size_t size)
    : size_(size), where_(mapped(-1, size, PROT_READ | PROT_WRITE, MAP_ANONYMOUS)) {}

SharedMapping::~SharedMapping() { ::munmap(where_, size_); }

SharedMemory::SharedMemory(std::size_t size)
    : file_(make_memfd(size, F_SEAL_SEAL)), size_(size), mapping_(file_, size) {}

SharedMemory::SharedMemory(FileDescriptor file, std::size_t size, MapAccess access)
    : file_(checked(std::move(file), size)), size_(size), mapping_(file_, size, access) {}

}  // namespace carillon::detail
