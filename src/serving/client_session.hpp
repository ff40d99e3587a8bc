// SPDX-License-Identifier: Apache-2.0
// What a client has of an owner's kernels and objects, by its connection.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "carillon/connection.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "serving/attached.hpp"
#include "serving/client_messages.hpp"
#include "serving/link.hpp"

namespace carillon::detail {

class ClientLease;

// A Connection and the channels that were made by it share a session; the last of them closes it.
// Any thread may call it.
class ClientSession final : public LeaseListener,
                            public std::enable_shared_from_this<ClientSession> {
   public:
    explicit ClientSession(std::shared_ptr<Link> link) : link_(std::move(link)) {}
    ClientSession(ClientSession const&) = delete;
    ClientSession& operator=(ClientSession const&) = delete;
    ~ClientSession() override { link_->stop_listening(); }

    [[nodiscard]] ChannelParts attach(std::string_view object, MessageTypes const& types);
    // The host's end of an object. `type`: of its values. A log is a mailbox, too.
    template <class Layout>
    [[nodiscard]] LeasedEnd<typename Layout::View> end_of(std::string_view object, ObjectKind kind,
                                                          MessageType const& type);
    [[nodiscard]] Link const& link() const { return *link_; }
    [[nodiscard]] OwnerStatus status();
    [[nodiscard]] std::string why_host_memory() const;
    void require_own() const { mark_.require_own(); }
    [[nodiscard]] bool inherited() const { return mark_.inherited(); }

    // Its leases call these.
    void detach(ClientLease& lease) noexcept;
    // Throws what has become of the kernel, or of its owner, where it takes no more requests.
    void require_open(std::string const& object) const;

   private:
    [[nodiscard]] Seen look(Look const& place, Deadline const& deadline);
    // Looks at the places behind the first. False: another object has got the name meanwhile.
    [[nodiscard]] bool look_at_others(Seen const& first, Look place, ServedObject& object,
                                      Deadline const& deadline);
    [[nodiscard]] std::shared_ptr<ClientLease> lease_of(std::string_view object, ObjectKind kind,
                                                        MessageTypes const& types);
    [[nodiscard]] std::shared_ptr<ClientLease> map(OwnerAnswer answer, Attach const& asked);
    // Maps it in host memory if the device's cannot be mapped here.
    [[nodiscard]] std::shared_ptr<ClientLease> map_anywhere(Attach attach,
                                                            Deadline const& deadline);
    void adopt(ClientLease& lease);

    // See LeaseListener.
    void hear(Notice const& notice) override;
    void hear(Ended const& ended) override;
    void lose_owner() noexcept override;
    [[nodiscard]] bool tell_drained(Link::Lock const& lock) override;
    [[nodiscard]] KernelState state_of(std::string const& object) const;  // with the lock

    ProcessMark mark_;
    std::shared_ptr<Link> link_;
    // All that follows needs the link's lock.
    std::map<std::uint32_t, ClientLease*> leases_;
    std::string why_host_memory_;
    // The state of each object that was asked for, and of no other one that the owner tells of.
    std::map<std::string, Notice> states_;
};

// The tie of a channel, or of an object's end, to its session.
class ClientLease final : public ChannelLease {
   public:
    ClientLease(std::shared_ptr<ClientSession> session, std::string object,
                Attached const& attached, MappedChannel mapped);
    ~ClientLease() override;

    void require_open() const override;
    void require_alive() override;
    void ask(std::function<bool()> answered) override;

    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] std::string const& object() const { return object_; }
    [[nodiscard]] MappedChannel const& mapped() const { return mapped_; }
    // The session calls this.
    void set(KernelState state) { own_state() = state; }
    // Whether to tell that all is answered: once, if that is so.
    [[nodiscard]] bool newly_drained();
    // The owner could not be told that.
    void tell_again();
    // The owner has taken it back.
    void end(std::string why);

   private:
    // Throws StoppedError if the owner has taken it back.
    void require_lent() const;

    std::shared_ptr<ClientSession> session_;
    std::string object_;
    std::uint32_t number_;
    MappedChannel mapped_;
    mutable std::mutex mutex_;
    std::function<bool()> answered_;
    bool told_ = false;
    std::string ended_;  // why the owner has taken it back; empty while it has not
};

template <class Layout>
LeasedEnd<typename Layout::View> ClientSession::end_of(std::string_view object, ObjectKind kind,
                                                       MessageType const& type) {
    auto lease = lease_of(object, kind, {type, type});
    MappedChannel const& mapped = lease->mapped();
    // Two steps are for quads. Every word of a mailbox has its tag
    // (detail/protocol/mailbox_protocol.hpp).
    std::optional<PublishMode> mode;
    if (std::is_same_v<Layout, MailboxLayout>) mode = PublishMode::one_step;
    return {lease, mapped.view_of<Layout>(), mapped.access(mode),
            mapped.wait(link_->options().wait), mapped.attached().chunk_bytes};
}

}  // namespace carillon::detail
