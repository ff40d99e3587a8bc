// SPDX-License-Identifier: Apache-2.0
// An object whose end on the host is lent to clients of other processes, as its owner has it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/access/host_cached.hpp"
#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/closed_by_owner.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/read_counters.hpp"
#include "carillon/detail/host/taken_once.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

struct KindRow;

// What a client gets, and nobody else.
struct ObjectMemory {
    ChannelSharing sharing;
    Memory device;
    Memory host;                                       // may be none
    std::optional<std::uint32_t> user = std::nullopt;  // that has had it
    Sequence first = 1;
    std::uint64_t used = 0;  // messages of its last client

    // At the addresses of either side.
    [[nodiscard]] ChannelTable host_view() const;
    [[nodiscard]] ChannelTable device_view() const;
    // It is used no more.
    void free_at_once() noexcept {
        device.free_at_once();
        host.free_at_once();
    }
};

// From any thread.
class SharedObject : public ClosedByOwner {
   public:
    // `readers`: how many ends the device has, each of which has to leave a client's memory. Throws
    // what Device::allocate throws.
    SharedObject(Device const& device, ObjectKind kind, ObjectShape const& shape,
                 MessageType const& type, unsigned readers, Sequence first);
    SharedObject(SharedObject const&) = delete;
    SharedObject& operator=(SharedObject const&) = delete;

    [[nodiscard]] ObjectKind kind() const { return kind_; }
    [[nodiscard]] ObjectShape const& shape() const { return shape_; }
    [[nodiscard]] MessageTypes types() const { return {type_, type_}; }
    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] std::size_t bytes() const { return device_bytes_ + host_bytes_; }
    // How many memories a client gets.
    [[nodiscard]] unsigned descriptors() const { return host_bytes_ == 0 ? 1 : 2; }
    // For the device's ends, of which `reader` is one. Throws UsageError, in the name of `call`,
    // for one that is not, and for one that was taken.
    [[nodiscard]] LeaseTable take(std::string_view call, unsigned reader,
                                  CodeLocation const& where);

    // Lends it to a client of `user`, as Leases::begin() does a block. A mailbox also while the
    // device has not looked at it since its last client went, if that was the same user's.
    [[nodiscard]] ObjectMemory const* begin(std::uint32_t user, ChannelSharing sharing);
    // Takes it back; it is lent anew once every end of the device has left the memory.
    void end();
    // The owner itself has set it, in memory of its own.
    void tell_own_set();
    // Whether a client has it; and whether the device may look into a former one's memory still.
    [[nodiscard]] bool lent() const;
    [[nodiscard]] bool ends() const;
    // What has gone through it: of a mailbox how often it was set; of a ring, and of chunks, what
    // was pushed and what its consumer has said that it has taken, which it does in batches. Looks
    // at a few lines and words of either memory, of which the ends hear nothing.
    [[nodiscard]] LeasedCounters counters() const;

   private:
    using Writer = LeaseWriter<HostCached, HostMapped>;

    [[nodiscard]] LeaseTable view(void* lines, void* status) const;
    [[nodiscard]] bool over() const;
    // The memory that the last client had, for another one of the same user, while an end of the
    // device has not left it; nullptr where it cannot be.
    [[nodiscard]] ObjectMemory const* begin_again(std::uint32_t user, ChannelSharing sharing);
    // Whether a client that asks for memory of a kind can map this one.
    [[nodiscard]] bool can_map(ObjectMemory const& memory, ChannelSharing asked) const;
    [[nodiscard]] ObjectMemory* memory_for(std::uint32_t user, ChannelSharing sharing);
    ObjectMemory& add_memory(ChannelSharing sharing);
    // Frees the memory that was lent longest ago. False: there is none, or it cannot be freed now.
    bool free_oldest() noexcept;
    void lay_out(ObjectMemory& memory);
    [[nodiscard]] ChannelCounters count() const;
    // The number of the newest value in the memory of a mailbox.
    [[nodiscard]] Sequence newest_value(ObjectMemory const& memory) const;

    Device device_;
    ObjectKind kind_;
    KindRow const& row_;
    ObjectShape shape_;
    std::size_t device_bytes_;
    std::size_t host_bytes_;  // 0: it has none
    MessageType type_;
    Memory lines_;
    Memory status_;
    mutable std::mutex mutex_;
    std::vector<Writer> writers_;  // for each end of the device
    std::vector<TakenOnce> taken_;
    std::vector<std::unique_ptr<ObjectMemory>> memories_;  // the one that was lent last is the last
    Sequence first_;
    ObjectMemory* current_ = nullptr;  // that a client has
    ChannelCounters gone_{};
};

}  // namespace carillon::detail
