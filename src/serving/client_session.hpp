// SPDX-License-Identifier: Apache-2.0
// A client's connection to the owner of a kernel.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "carillon/connection.hpp"
#include "carillon/detail/host/channel_lease.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/message_types.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "os/unix_socket.hpp"
#include "serving/attached.hpp"
#include "serving/client_messages.hpp"
#include "serving/reach_owner.hpp"
#include "serving/wakeup.hpp"

namespace carillon::detail {

class ClientLease;

// Shared by a Connection and the channels that were made by it; the last of them closes it. From
// any thread. Its own thread reads what the owner sends, and sees the owner's end.
class ClientSession : public std::enable_shared_from_this<ClientSession> {
   public:
    // As Connection's constructor.
    [[nodiscard]] static std::shared_ptr<ClientSession> connect(std::filesystem::path const& path,
                                                                ConnectOptions const& options);
    ClientSession(ClientSession const&) = delete;
    ClientSession& operator=(ClientSession const&) = delete;
    ~ClientSession();

    [[nodiscard]] LeasedChannel attach(std::string_view object, MessageTypes const& types);
    // The host's end of an object. `type`: of its values.
    [[nodiscard]] LeasedEnd<MailboxView> mailbox(std::string_view object, MessageType const& type,
                                                 bool to_device = true);
    [[nodiscard]] LeasedEnd<MailboxView> log(std::string_view object);
    [[nodiscard]] LeasedEnd<RingView> ring(std::string_view object, MessageType const& type,
                                           bool to_device);
    // And how many bytes a chunk has.
    struct LeasedChunks {
        LeasedEnd<ChunkRingView> end;
        std::uint32_t chunk_bytes;
    };
    [[nodiscard]] LeasedChunks chunk_ring(std::string_view object, MessageType const& type);
    [[nodiscard]] ConnectedOwner const& owner() const { return owner_; }
    [[nodiscard]] OwnerStatus status();
    [[nodiscard]] std::string why_host_memory() const;
    void require_own(std::string_view call) const { mark_.require_own(call); }
    [[nodiscard]] bool inherited() const { return mark_.inherited(); }

    // For its leases.
    void detach(ClientLease& lease) noexcept;
    // Throws what has become of the kernel, or of its owner, where it takes no more requests.
    void require_open(std::string_view call, std::string const& object) const;

   private:
    struct Answer {
        Message message;
        std::vector<FileDescriptor> descriptors;
    };

    ClientSession(ConnectOptions const& options, ReachedOwner owner);
    [[nodiscard]] static std::shared_ptr<ClientSession> connect_now(
        std::filesystem::path const& path, ConnectOptions const& options);

    void introduce(Deadline const& deadline);
    // Sends `message` and waits for what answers it. Throws RefusedError, TimeoutError,
    // OwnerGoneError.
    [[nodiscard]] Answer exchange(std::string_view call, Message const& message,
                                  Deadline const& deadline);
    [[nodiscard]] Seen look(Look const& place, Deadline const& deadline);
    // At the places behind the first. False: another object has got the name meanwhile.
    [[nodiscard]] bool look_at_others(Seen const& first, Look place, ServedObject& object,
                                      Deadline const& deadline);
    // With the lock. Sends the question, and returns its number. The same Attach is not sent again
    // while the owner has not answered the first one: this call waits for the answer to that one.
    [[nodiscard]] std::uint32_t ask(Message const& message);
    // With the lock. Nobody waits for the answer any more.
    void give_up(std::uint32_t id, Message const& message);
    // With the lock. Sends it at once, or when the owner reads again; that the owner has gone is
    // seen by who receives.
    void send(Message const& message, std::uint32_t id = 0);
    void tell(Message const& message);  // the same without the lock
    void flush();
    [[nodiscard]] std::shared_ptr<ClientLease> lease_of(std::string_view object, ObjectKind kind,
                                                        MessageTypes const& types);
    [[nodiscard]] LeasedEnd<MailboxView> mailbox_of(std::string_view object, ObjectKind kind,
                                                    MessageType const& type);
    [[nodiscard]] std::shared_ptr<ClientLease> map(Answer answer, Attach const& asked);
    // Once the owner serves it, if it soon does.
    [[nodiscard]] std::shared_ptr<ClientLease> map_in_time(Attach const& attach);
    // In host memory where the device's cannot be mapped here.
    [[nodiscard]] std::shared_ptr<ClientLease> map_anywhere(Attach attach,
                                                            Deadline const& deadline);
    void adopt(ClientLease& lease);

    void read(std::stop_token const& stop);
    void read_until_gone(std::stop_token const& stop);
    // For poll().
    [[nodiscard]] short events_of_socket() const;
    // What there is, or much of it.
    enum class Heard : std::uint8_t { all, much, end };
    [[nodiscard]] Heard receive_all();
    void handle(SocketMessage received);
    void be_refused(Refused refused);
    void lose_owner(std::string why, bool talks_nonsense = false) noexcept;
    // With the lock held.
    [[noreturn]] void throw_gone(std::string_view call) const;
    [[nodiscard]] KernelState state_of(std::string const& object) const;  // with the lock
    // Whether a kernel drains: then it is told of the channels in which all is answered.
    bool tell_drained();

    ProcessMark mark_;
    ConnectOptions options_;
    UnixSocket socket_;
    FileDescriptor owners_end_;
    Wakeup wakeup_;
    ConnectedOwner owner_;
    mutable std::mutex mutex_;
    std::condition_variable answered_;
    std::uint32_t last_id_ = 0;
    std::map<std::uint32_t, std::optional<Answer>> awaited_;
    // What the owner has been asked for, and has not answered before the caller's timeout.
    std::map<std::uint32_t, Attach> given_up_;
    std::map<std::uint32_t, ClientLease*> leases_;
    struct Untold {
        std::uint32_t id;
        std::vector<std::byte> bytes;
    };
    std::deque<Untold> untold_;  // what waits for room in the socket
    // Of the connection, whatever is asked: that may come before anything was.
    std::optional<Refused> refused_;
    std::string gone_;             // why the owner has; empty while it has not
    bool talks_nonsense_ = false;  // that is why: who listens there is no owner, or a broken one
    std::string why_host_memory_;
    // Of each object that was asked for, and of no other, whatever the owner tells of.
    std::map<std::string, Notice> states_;
    Thread thread_;
};

// What a channel, or an object's end, has of its session.
class ClientLease final : public ChannelLease {
   public:
    ClientLease(std::shared_ptr<ClientSession> session, std::string object,
                Attached const& attached, MappedChannel mapped);
    ~ClientLease() override;
    ClientLease(ClientLease const&) = delete;
    ClientLease& operator=(ClientLease const&) = delete;

    void require_open(std::string_view call) const override;
    void require_alive(std::string_view call) override;
    void ask(std::function<bool()> answered) override;

    [[nodiscard]] std::uint32_t number() const { return number_; }
    [[nodiscard]] std::string const& object() const { return object_; }
    [[nodiscard]] MappedChannel const& mapped() const { return mapped_; }
    // From the session's thread.
    void set(KernelState state) { own_state() = state; }
    // Whether to tell that all is answered: once, if that is so.
    [[nodiscard]] bool newly_drained();
    // It could not be told.
    void tell_again();
    // The owner has taken it back.
    void end(std::string why);

   private:
    // Throws StoppedError where the owner has taken it back.
    void require_lent(std::string_view call) const;

    std::shared_ptr<ClientSession> session_;
    std::string object_;
    std::uint32_t number_;
    MappedChannel mapped_;
    mutable std::mutex mutex_;
    std::function<bool()> answered_;
    bool told_ = false;
    std::string ended_;  // why the owner has taken it back; empty while it has not
};

}  // namespace carillon::detail
