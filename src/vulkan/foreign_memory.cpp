// SPDX-License-Identifier: Apache-2.0
#include "vulkan/foreign_memory.hpp"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <charconv>
#include <string>
#include <utility>

#include "carillon/error.hpp"
#include "error/sizes.hpp"
#include "os/process.hpp"
#include "os/shared_memory.hpp"
#include "vulkan/vulkan_device.hpp"

namespace carillon::detail {
namespace {

class ForeignSharedMemory final : public Allocation {
   public:
    ForeignSharedMemory(FileDescriptor fd, std::size_t bytes, MapAccess access)
        : memory_(std::move(fd), bytes, access) {
        host = memory_.bytes().data();
        size = bytes;
    }
    FileDescriptor export_fd() const override { return memory_.duplicate(); }

   private:
    SharedMemory memory_;
};

// Mesa's CPU driver exports a file, and reads from any descriptor that it imports: a pipe would
// block it. A GPU's driver exports an opaque descriptor, and checks it itself.
void require_file(FileDescriptor const& fd, std::size_t size) {
    struct stat found {};
    if (::fstat(fd.get(), &found) != 0) throw SystemError("fstat", errno);
    if (!S_ISREG(found.st_mode)) {
        throw UsageError("the descriptor is not memory from Vulkan's CPU driver");
    }
    if (static_cast<std::size_t>(found.st_size) < size) {
        throw UsageError(fmt::format("the memory's file has {} bytes, fewer than the announced {}",
                                     found.st_size, size));
    }
}

std::unique_ptr<Allocation> import(FileDescriptor fd, std::size_t size,
                                   std::optional<Uuid> const& uuid) {
    if (size == 0) throw UsageError("0 bytes were announced");
    require_addressable(size);
    if (!uuid) require_file(fd, size);
    auto block = VulkanDevice::open(uuid, {})->import(std::move(fd), size);
    keep_mapping_from_children(block->host, block->allocated);
    return block;
}

std::unique_ptr<Allocation> map(FileDescriptor fd, std::size_t size, MemorySource source,
                                std::optional<Uuid> const& uuid, MapAccess access) {
    switch (source) {
        case MemorySource::memfd:
        case MemorySource::host:
            return std::make_unique<ForeignSharedMemory>(std::move(fd), size, access);
        case MemorySource::vulkan:
            if (access == MapAccess::read) {
                throw UsageError("Vulkan memory cannot be mapped read-only");
            }
            return import(std::move(fd), size, uuid);
        case MemorySource::dma_buf:
        case MemorySource::gdrcopy:
        case MemorySource::unknown:
            break;
    }
    // A value from elsewhere may be no MemorySource at all.
    std::string_view const name = source > MemorySource::memfd ? "" : to_string(source);
    throw UnsupportedError(fmt::format("another process cannot map memory from {}",
                                       name.empty() ? "unknown source" : name));
}

}  // namespace

std::optional<Uuid> uuid_of(std::string_view text) {
    std::string digits;
    for (char const c : text.substr(text.find('-') + 1)) {
        if (c != '-') digits += c;
    }
    Uuid uuid{};
    if (digits.size() != 2 * uuid.size()) return {};
    for (std::size_t i = 0; i < uuid.size(); ++i) {
        char const* const at = digits.data() + 2 * i;
        if (std::from_chars(at, at + 2, uuid[i], 16).ptr != at + 2) return {};
    }
    return uuid;
}

ForeignMemory::ForeignMemory(FileDescriptor fd, std::size_t size, MemorySource source,
                             std::optional<Uuid> const& uuid, MapAccess access)
    : memory_(map(std::move(fd), size, source, uuid, access).release()) {}

void ForeignMemory::LetGo::operator()(Allocation* memory) const noexcept {
    if (!mark.inherited()) free_or_keep(std::unique_ptr<Allocation>(memory));
}

void* ForeignMemory::host_ptr() const {
    if (!memory_) return nullptr;
    memory_.get_deleter().mark.require_own();
    return memory_->host;
}

RangeSync const* ForeignMemory::range_sync() const {
    return !memory_ || memory_->coherent ? nullptr : memory_.get();
}

}  // namespace carillon::detail
