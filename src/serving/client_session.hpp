// SPDX-License-Identifier: Apache-2.0
// A client's leases of an owner's kernels and objects, on one connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/connection.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/serving/lendable.hpp"
#include "carillon/memory.hpp"
#include "carillon/wait.hpp"
#include "serving/client_messages.hpp"
#include "serving/link.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

class ClientLease;

// A client's mapping of the memory of a channel, or of an object.
class MappedChannel {
   public:
    // `files`: those of a Loan. Throws ProtocolError for sizes that do not go together, and what
    // ForeignMemory throws.
    MappedChannel(ObjectKind kind, Attached const& attached, std::vector<FileDescriptor> files);

    // The memory as that of a channel.
    [[nodiscard]] ChannelView view() const {
        ChannelView view = table().channel(0);
        if (attached_.any_block) view.requests.credit = &counters()->taken;  // pool_places.hpp
        return view;
    }
    [[nodiscard]] ServedBy served_by() const {
        return attached_.any_block ? ServedBy::any_block : ServedBy::one_block;
    }
    // The memory as that of an object.
    template <class Layout>
    [[nodiscard]] typename Layout::View view_of() const {
        return Layout::view(shape_of(attached_), table());
    }
    [[nodiscard]] Attached const& attached() const { return attached_; }
    [[nodiscard]] CounterWords* counters() const { return table().counters(0); }
    // All bytes that this process can write.
    [[nodiscard]] std::span<std::byte> device_bytes() const { return bytes_of(device_); }
    [[nodiscard]] std::span<std::byte> host_bytes() const {
        return host_ ? bytes_of(*host_) : std::span<std::byte>();
    }
    // It publishes in two steps if this CPU needs them, unless `mode` says otherwise.
    [[nodiscard]] HostMapped access(std::optional<PublishMode> mode = {}) const {
        HostStores stores = attached_.memory.write_combining ? best_mapped_stores() : HostStores{};
        stores.mode = mode.value_or(stores.mode);
        auto const* const word = static_cast<std::uint64_t const*>(device_.host_ptr());
        return HostMapped(stores, device_.range_sync(), attached_.read_back ? word : nullptr);
    }
    // How a client waits, unless it has `chosen`.
    [[nodiscard]] HostWait wait(std::optional<HostWait::Style> const& chosen) const {
        DeviceTraits traits;
        traits.shares_processors = attached_.shares_processors;
        return HostWait::for_kernel(traits, attached_.blocks, chosen);
    }

   private:
    [[nodiscard]] static std::span<std::byte> bytes_of(ForeignMemory const& memory) {
        return {static_cast<std::byte*>(memory.host_ptr()), memory.size()};
    }

    [[nodiscard]] static ObjectShape shape_of(Attached const& attached) {
        return {attached.shape.capacity, attached.shape.request_lines, attached.chunk_bytes};
    }
    [[nodiscard]] ChannelTable table() const {
        return table_of_one(device_.host_ptr(), host_ ? host_->host_ptr() : nullptr,
                            attached_.shape, attached_.first, attached_.in_pairs);
    }

    Attached attached_;
    ForeignMemory device_;
    std::optional<ForeignMemory> host_;
};

// A Connection and the channels that were made by it share a session; the last of them closes it.
// Any thread may call it.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
   public:
    explicit ClientSession(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    ClientSession& operator=(ClientSession&&) = delete;
    ~ClientSession() { link_->stop_listening(); }

    [[nodiscard]] ChannelParts attach(std::string_view object, MessageTypes const& types);
    // The host's end of an object. `type`: of its values. A log is a mailbox, too.
    template <class Layout>
    [[nodiscard]] ObjectEnd<typename Layout::View> end_of(std::string_view object, ObjectKind kind,
                                                          MessageType const& type);
    [[nodiscard]] Link const& link() const { return *link_; }
    [[nodiscard]] OwnerStatus status();
    void require_own() const { mark_.require_own(); }
    [[nodiscard]] bool inherited() const { return mark_.inherited(); }

    // Its leases call these.
    void detach(ClientLease& lease) noexcept;
    // Throws what has become of the kernel, or of its owner, where it takes no more requests.
    void require_open(std::string const& object) const;

    // The link calls these with its lock.
    void hear(Notice const& notice);
    void hear(Ended const& ended);
    void lose_owner() noexcept;
    // Tells the owner of channels to a draining kernel in which all is answered. Returns whether
    // there are channels to a draining kernel.
    [[nodiscard]] bool tell_drained(Link::Lock const& lock);

   private:
    [[nodiscard]] Seen look(Look const& place, Deadline const& deadline) {
        OwnerAnswer answer = link_->ask(place, deadline);
        return std::move(said<Seen>(answer));
    }
    // Looks at the places behind the first. False: another object has got the name meanwhile.
    [[nodiscard]] bool look_at_others(Seen const& first, Look place, ServedObject& object,
                                      Deadline const& deadline);
    [[nodiscard]] std::shared_ptr<ClientLease> lease_of(std::string_view object, ObjectKind kind,
                                                        MessageTypes const& types);
    [[nodiscard]] std::shared_ptr<ClientLease> map(OwnerAnswer answer, Attach const& asked);
    void adopt(ClientLease& lease);

    [[nodiscard]] KernelState state_of(std::string const& object) const {  // with the lock
        auto const found = states_.find(object);
        return found == states_.end() ? KernelState::running : found->second.state;
    }

    ProcessMark mark_;
    std::shared_ptr<Link> link_;
    // All that follows needs the link's lock.
    std::map<std::uint32_t, ClientLease*> leases_;
    // The state of each object that was asked for, and of no other one that the owner tells of.
    std::map<std::string, Notice> states_;
};

// The tie of a channel, or of an object's end, to its session.
class ClientLease final : public ChannelLease {
   public:
    ClientLease(std::shared_ptr<ClientSession> session, std::string object, MappedChannel mapped)
        : session_(std::move(session)), object_(std::move(object)), mapped_(std::move(mapped)) {}
    ~ClientLease() override { session_->detach(*this); }

    void require_open() const override {
        if (state_word() == KernelState::running) return;
        require_lent();
        session_->require_open(object_);
        require_lent();  // the name may be another object's by now, which runs
    }
    void require_alive() override {
        if (state_word() != KernelState::draining) require_open();
    }
    void ask(bool (*answered)(void const*), void const* of) override {
        if (session_->inherited()) return;  // the holder of the lock may not be there
        std::lock_guard const lock(mutex_);
        answered_ = answered;
        asked_of_ = of;
    }

    [[nodiscard]] std::uint32_t number() const { return mapped_.attached().lease; }
    [[nodiscard]] std::string const& object() const { return object_; }
    [[nodiscard]] MappedChannel const& mapped() const { return mapped_; }
    // The session calls this.
    void set(KernelState state) { own_state() = state; }
    // Whether to tell that all is answered: once, if that is so.
    [[nodiscard]] bool newly_drained() {
        std::lock_guard const lock(mutex_);
        if (told_ || (answered_ != nullptr && !answered_(asked_of_))) return false;
        return told_ = true;
    }
    // The message to the owner could not be sent: send it again.
    void tell_again() {
        std::lock_guard const lock(mutex_);
        told_ = false;
    }
    // The owner has taken it back.
    void end(std::string why) {
        std::lock_guard const lock(mutex_);
        ended_ = std::move(why);
        set(KernelState::failed);
    }

   private:
    // Throws StoppedError if the owner has taken it back.
    void require_lent() const {
        std::lock_guard const lock(mutex_);
        if (!ended_.empty()) throw StoppedError(ended_);
    }

    std::shared_ptr<ClientSession> session_;
    std::string object_;
    MappedChannel mapped_;
    mutable std::mutex mutex_;
    bool (*answered_)(void const*) = nullptr;
    void const* asked_of_ = nullptr;
    bool told_ = false;
    std::string ended_;  // why the owner has taken it back; empty while it has not
};

template <class Layout>
ObjectEnd<typename Layout::View> ClientSession::end_of(std::string_view object, ObjectKind kind,
                                                       MessageType const& type) {
    auto lease = lease_of(object, kind, {type, type});
    MappedChannel const& mapped = lease->mapped();
    // Two steps are for quads. Every word of a mailbox has its tag
    // (detail/protocol/mailbox_protocol.hpp).
    std::optional<PublishMode> mode;
    if (std::is_same_v<Layout, MailboxLayout>) mode = PublishMode::one_step;
    return {LentBy(lease), mapped.view_of<Layout>(), mapped.access(mode),
            mapped.wait(link_->options().wait), mapped.attached().chunk_bytes};
}

}  // namespace carillon::detail
