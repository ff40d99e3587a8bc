// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/serving/published_object.hpp"

#include "carillon/detail/access/host_near_far.hpp"
#include "os/shared_memory.hpp"

namespace carillon::detail {

namespace {

// This process maps it for writing, and nobody else can later.
std::shared_ptr<SharedMemory const> published_memory(std::size_t size) {
    auto memory = std::make_shared<SharedMemory>(new_sealable_memory(size), size);
    seal_against_new_writers(memory->descriptor());
    return memory;
}

}  // namespace

PublishedObject::PublishedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                                 MessageType const& type, Sequence first, bool by_device)
    : device_(device),
      kind_(kind),
      shape_(shape),
      type_(type),
      first_(first),
      memory_(published_memory(bytes())) {
    format_mailbox(host_view());
    if (by_device) registered_ = device.register_host(memory_->bytes(), memory_);
}

MailboxView PublishedObject::view_at(void* begin) const {
    return MailboxLayout::view(
        shape_, {static_cast<std::byte*>(begin), nullptr, 1, {}, first_, nullptr, false});
}

MailboxView PublishedObject::host_view() const { return view_at(memory_->bytes().data()); }
MailboxView PublishedObject::device_view() const { return view_at(registered_.device_ptr()); }

std::uint64_t PublishedObject::published() const {
    return HostCached().load_word(host_view().newest) - (first_ - 1);
}

FileDescriptor PublishedObject::export_fd() const { return memory_->duplicate(); }

}  // namespace carillon::detail
