// SPDX-License-Identifier: Apache-2.0
// Values that an owner, or its device, writes, and that clients of other processes map for reading
// alone: nobody else can write there, so any number of clients may look at once.
#pragma once

#include <cstddef>
#include <memory>

#include "carillon/detail/host/closed_by_owner.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

class SharedMemory;

// Any thread may call it. Its memory has the layout of a mailbox (MailboxLayout).
class PublishedObject : public ClosedByOwner {
   public:
    // `by_device`: whether the device writes it, too. Throws UnsupportedError (Linux before 5.1),
    // SystemError, and what Device::register_host throws.
    PublishedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                    MessageType const& type, Sequence first, bool by_device);
    PublishedObject(PublishedObject const&) = delete;
    PublishedObject& operator=(PublishedObject const&) = delete;

    [[nodiscard]] ObjectKind kind() const { return kind_; }
    [[nodiscard]] ObjectShape const& shape() const { return shape_; }
    [[nodiscard]] MessageTypes types() const { return {type_, type_}; }
    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] Sequence first() const { return first_; }
    [[nodiscard]] std::size_t bytes() const { return MailboxLayout::device_bytes(shape_); }

    // The views with the addresses of either side; there is a device's only if it writes.
    [[nodiscard]] MailboxView host_view() const;
    [[nodiscard]] MailboxView device_view() const;
    // How often a value was set, or how many messages there were.
    [[nodiscard]] std::uint64_t published() const;
    // Another descriptor, through which nobody can write. Throws SystemError.
    [[nodiscard]] FileDescriptor export_fd() const;

   private:
    [[nodiscard]] MailboxView view_at(void* begin) const;

    Device device_;
    ObjectKind kind_;
    ObjectShape shape_;
    MessageType type_;
    Sequence first_;
    std::shared_ptr<SharedMemory const> memory_;
    Memory registered_;  // memory_, if the device writes
};

}  // namespace carillon::detail
