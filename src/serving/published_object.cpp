// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/serving/published_object.hpp"

#include <span>

#include "carillon/detail/access/host_cached.hpp"
#include "os/shared_memory.hpp"

namespace carillon::detail {

// Mapped here for writing, and by nobody who comes later.
class PublishedMemory {
   public:
    explicit PublishedMemory(std::size_t size)
        : file_(new_sealable_memory(size)), size_(size), mapping_(file_, size) {
        seal_against_new_writers(file_);
    }

    [[nodiscard]] FileDescriptor const& file() const { return file_; }
    [[nodiscard]] std::span<std::byte> bytes() const {
        return {static_cast<std::byte*>(mapping_.get()), size_};
    }

   private:
    FileDescriptor file_;
    std::size_t size_;
    SharedMapping mapping_;
};

PublishedObject::PublishedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                                 MessageType const& type, Sequence first, bool by_device)
    : device_(device),
      kind_(kind),
      shape_(shape),
      type_(type),
      first_(first),
      memory_(std::make_shared<PublishedMemory>(bytes())) {
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

FileDescriptor PublishedObject::export_fd() const { return memory_->file().duplicate(); }

}  // namespace carillon::detail
