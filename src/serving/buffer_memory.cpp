// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_memory.hpp"

#include <cstring>

#include "carillon/device.hpp"
#include "device/allocation.hpp"
#include "device/backend.hpp"
#include "error/sizes.hpp"
#include "os/process.hpp"

namespace carillon::detail {

BufferView::BufferView(std::shared_ptr<Memory const> const& memory, bool write_combining)
    : mapped_{memory->host_ptr(), memory->device_ptr(), memory->size(), memory->range_sync(),
              memory},
      write_combining_(write_combining) {}

BufferView::BufferView(ForeignMemory memory, bool write_combining, bool emulated)
    : write_combining_(write_combining) {
    auto const kept = std::make_shared<ForeignMemory const>(std::move(memory));
    mapped_ = {kept->host_ptr(), emulated ? kept->host_ptr() : nullptr, kept->size(),
               kept->range_sync(), kept};
}

BufferView::BufferView(Device const& device, FileDescriptor fd, std::size_t size,
                       bool write_combining)
    : write_combining_(write_combining) {
    auto const backend = DeviceAccess::backend(device);
    std::unique_ptr<Allocation> imported = backend->import(std::move(fd), size);
    Allocation const& at = *imported;
    // If it were freed at once, the driver would wait for a kernel that lives on the device.
    std::shared_ptr<Allocation> const kept(imported.release(), [backend](Allocation* allocation) {
        backend->residents().retire(std::unique_ptr<Allocation>(allocation));
    });
    mapped_ = {at.host, at.device, at.size, at.coherent ? nullptr : &at, kept};
}

void BufferView::use_for(BufferUse use) {
    if (file_ != nullptr) return map_file(use);
    if (use == BufferUse::none) use = BufferUse::reading;
    if (used_.exchange(use) == use) return;
    protect_pages(mapped_.host, mapped_.size, use == BufferUse::writing);
}

void BufferView::map_file(BufferUse use) {
    if (use == used_) return;
    mapped_ = {.size = mapped_.size};
    used_ = BufferUse::none;
    if (use == BufferUse::none) return;
    auto const access = use == BufferUse::writing ? MapAccess::read_write : MapAccess::read;
    auto mapping = std::make_shared<SharedMapping>(*file_, mapped_.size, access);
    mapped_ = {mapping->get(), mapping->get(), mapped_.size, nullptr, mapping};
    used_ = use;
}

void BufferView::write(CopyTeam& team, std::size_t offset, std::byte const* from,
                       std::size_t size) const {
    if (write_combining_) {
        team.store(host() + offset, from, size);
    } else {
        std::memcpy(host() + offset, from, size);
    }
}

void BufferView::read(CopyTeam& team, std::byte* to, std::size_t offset, std::size_t size) const {
    if (mapped_.sync != nullptr) mapped_.sync->invalidate(host() + offset, size);
    if (write_combining_) {
        team.load(to, host() + offset, size);
    } else {
        std::memcpy(to, host() + offset, size);
    }
}

// A read from the memory comes behind all earlier writes to it.
void BufferView::settle(std::size_t size) const {
    X86::store_fence();
    if (mapped_.sync != nullptr) mapped_.sync->flush(host(), size);
    if (write_combining_) (void)*static_cast<std::byte volatile const*>(host() + size - 1);
}

StoreMemory::StoreMemory(Device const& device, bool of_host, std::uint64_t number, std::size_t size,
                         uid_t user)
    : number_(number), size_(size), user_(user) {
    if (of_host) {
        require_machine_memory(size);
        file_ = std::make_shared<FileDescriptor const>(new_sealable_memory(size));
        return;
    }
    memory_ = std::make_shared<Memory const>(device.allocate(size));
    view_ = std::make_shared<BufferView>(memory_, device.traits().write_combining);
}

}  // namespace carillon::detail
