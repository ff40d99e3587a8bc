// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_view.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "carillon/detail/host/device_access.hpp"
#include "device/allocation.hpp"
#include "device/backend.hpp"
#include "os/process.hpp"

namespace carillon::detail {

void BufferView::write(CopyTeam& team, std::size_t offset, std::byte const* from,
                       std::size_t size) const {
    if (write_combining_) {
        team.store(host() + offset, from, size);
    } else {
        std::memcpy(host() + offset, from, size);
    }
}

void BufferView::read(CopyTeam& team, std::byte* to, std::size_t offset, std::size_t size) const {
    if (sync() != nullptr) sync()->invalidate(host() + offset, size);
    if (write_combining_) {
        team.load(to, host() + offset, size);
    } else {
        std::memcpy(to, host() + offset, size);
    }
}

// A read from the memory comes behind all earlier writes to it.
void BufferView::settle(std::size_t size) const {
    X86::store_fence();
    if (sync() != nullptr) sync()->flush(host(), size);
    if (write_combining_) (void)*static_cast<std::byte volatile const*>(host() + size - 1);
}

void FileView::use_for(BufferUse use) {
    if (use == used_) return;
    mapping_.reset();
    used_ = BufferUse::none;
    if (use == BufferUse::none) return;
    mapping_ = std::make_unique<SharedMapping>(
        *file_, size_, use == BufferUse::writing ? MapAccess::read_write : MapAccess::read);
    used_ = use;
}

void DriverView::use_for(BufferUse use) {
    bool const writable = use == BufferUse::writing;
    if (writable_.exchange(writable) == writable) return;
    protect_pages(host(), mapped_.size, writable);
}

std::shared_ptr<BufferView> view_of_own(std::shared_ptr<Memory const> memory,
                                        bool write_combining) {
    DriverView::Mapped mapped{memory->host_ptr(), memory->device_ptr(), memory->size(),
                              memory->range_sync(), memory};
    return std::make_shared<DriverView>(std::move(mapped), write_combining);
}

std::shared_ptr<BufferView> view_of_foreign(ForeignMemory memory, bool write_combining,
                                            bool emulated) {
    auto const kept = std::make_shared<ForeignMemory const>(std::move(memory));
    DriverView::Mapped mapped{kept->host_ptr(), emulated ? kept->host_ptr() : nullptr, kept->size(),
                              kept->range_sync(), kept};
    return std::make_shared<DriverView>(std::move(mapped), write_combining);
}

std::shared_ptr<BufferView> view_of_imported(Device const& device, FileDescriptor fd,
                                             std::size_t size, bool write_combining) {
    auto const backend = DeviceAccess::backend(device);
    std::unique_ptr<Allocation> imported = backend->import(std::move(fd), size);
    Allocation const& at = *imported;
    // If it were freed at once, the driver would wait for a kernel that lives on the device.
    std::shared_ptr<Allocation> const kept(imported.release(), [backend](Allocation* allocation) {
        backend->residents().retire(std::unique_ptr<Allocation>(allocation));
    });
    DriverView::Mapped mapped{at.host, at.device, at.size, at.coherent ? nullptr : &at, kept};
    return std::make_shared<DriverView>(std::move(mapped), write_combining);
}

}  // namespace carillon::detail
