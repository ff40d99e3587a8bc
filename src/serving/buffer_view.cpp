// SPDX-License-Identifier: Apache-2.0
#include "serving/buffer_view.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

#include "carillon/detail/host/device_access.hpp"
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

// What is read from the memory comes behind all that was written to it before.
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
    protect_pages(host(), mapped_size(), writable);
}

ImportedView::ImportedView(Device const& device, FileDescriptor fd, std::size_t size,
                           bool write_combining)
    : DriverView(write_combining),
      backend_(DeviceAccess::backend(device)),
      allocation_(backend_->import(std::move(fd), size)) {}

// The driver would wait for a kernel that lives on the device.
ImportedView::~ImportedView() { backend_->residents().retire(std::move(allocation_)); }

}  // namespace carillon::detail
