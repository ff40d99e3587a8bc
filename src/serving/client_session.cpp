// SPDX-License-Identifier: Apache-2.0
#include "serving/client_session.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "carillon/detail/host/duration_text.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/detail/host/start_thread.hpp"
#include "carillon/detail/protocol/announce.hpp"
#include "carillon/error.hpp"
#include "os/process.hpp"
#include "serving/published_log.hpp"

namespace carillon::detail {
namespace {

constexpr char const* connect_call = "Connection";
constexpr char const* status_call = "Connection::status";
constexpr char const* no_memory = "no memory left";  // as long as a text may be that takes none

constexpr char const* call_of(ObjectKind kind) {
    switch (kind) {
        case ObjectKind::mailbox:
        case ObjectKind::mailbox_to_host:
            return "Connection::mailbox";
        case ObjectKind::ring_to_device:
        case ObjectKind::ring_to_host:
            return "Connection::ring";
        case ObjectKind::chunk_ring:
            return "Connection::chunk_ring";
        case ObjectKind::log:
            return "Connection::log";
        default:
            return "Connection::channel";
    }
}
// How often it is looked whether all is answered while the kernel drains; and a bound otherwise.
constexpr std::chrono::milliseconds drain_period{1};
constexpr std::chrono::milliseconds quiet_period{1000};
// How many messages the thread takes before it looks at all else: an owner may send for ever.
constexpr unsigned answers_in_a_turn = 64;

ConnectOptions checked(ConnectOptions options) {
    if (options.name.empty()) options.name = name_of_program();
    require_name(connect_call, "client", options.name);
    if (options.timeout.count() <= 0) {
        throw UsageError(connect_call, "the timeout is over already");
    }
    if (options.wait_for_owner.count() < 0) {
        throw UsageError(connect_call, "wait_for_owner is below 0");
    }
    return options;
}

WireType wire_type(MessageType const& type) {
    return {type.bytes,   type.alignment,  type.layout,
            type.members, type.slot_lines, sent_name(type.name)};
}

// The types that a line has named.
struct ToldTypes {
    std::mutex mutex;
    std::set<std::string> names;
};

// Once of each type whose name is known.
void tell_that_members_are_not_compared(MessageType const& type) {
    if (type.layout == 0 || type.members != unsaid_members) return;
    auto& told = PerProcess<ToldTypes>::get();
    std::lock_guard const lock(told.mutex);
    if (!told.names.insert(type.name).second) return;
    say_line(
        fmt::format("carillon: the name and the size of {} are compared with the owner's, its "
                    "members are not: write CARILLON_MEMBERS(...), with all of them, into the "
                    "struct and into each struct within it (docs/ipc.md)",
                    type.name));
}

// The owner has compared them too, if it is what it should be.
void require_slots(Attached const& attached, Attach const& asked) {
    if (attached.shape.request_lines == asked.request.slot_lines &&
        attached.shape.reply_lines == asked.reply.slot_lines)
        return;
    throw ProtocolError(
        call_of(asked.kind),
        fmt::format("the owner's slots have {} and {} lines, these types' {} and {}",
                    attached.shape.request_lines, attached.shape.reply_lines,
                    asked.request.slot_lines, asked.reply.slot_lines));
}

template <class View>
LeasedEnd<View> leased(std::shared_ptr<ClientLease> lease, View const& view,
                       std::optional<HostWait::Style> const& wait) {
    MappedChannel const& mapped = lease->mapped();
    HostMapped const access = mapped.access();
    HostWait const waits = mapped.wait(wait);
    return {std::move(lease), view, access, waits};
}

ChannelCounters from_wire(WireCounters const& wire) {
    return {wire.submitted, wire.answered, wire.taken, wire.dropped, wire.stalls, wire.depth};
}

ServedBlock block_of(Seen const& seen) {
    return {seen.activity,
            seen.client,
            static_cast<std::int32_t>(seen.process),
            seen.user,
            std::chrono::milliseconds(seen.held_ms),
            from_wire(seen.counters),
            from_wire(seen.gone),
            {seen.beats, std::chrono::milliseconds(seen.beat_age_ms)}};
}

// Whether two looks have met one object in one state: another one may have got its name in between.
// A mailbox and a log get more places with their readers; a kernel has as many as ever.
bool is_same(Seen const& seen, Seen const& first) {
    return seen.object == first.object && seen.kind == first.kind && seen.state == first.state &&
           (seen.kind != ObjectKind::kernel || seen.places == first.places);
}

}  // namespace

ClientSession::ClientSession(ConnectOptions const& options, ReachedOwner owner)
    : options_(options),
      socket_(std::move(owner.socket)),
      owners_end_(std::move(owner.end)),
      wakeup_(connect_call) {
    owner_.user = owner.user;
}

std::shared_ptr<ClientSession> ClientSession::connect(std::filesystem::path const& path,
                                                      ConnectOptions const& given) {
    ConnectOptions const options = checked(given);
    OwnerWait const wait(options.wait_for_owner);
    for (;;) {
        try {
            return connect_now(path, options);
        } catch (Error const&) {
            wait.before_next_connection();
        }
    }
}

std::shared_ptr<ClientSession> ClientSession::connect_now(std::filesystem::path const& path,
                                                          ConnectOptions const& options) {
    Deadline const deadline(options.timeout);
    std::shared_ptr<ClientSession> session(
        new ClientSession(options,
                          reach_owner(connect_call, path, options.timeout, options.owner_user)),
        DeleteOwn());
    ClientSession& self = *session;
    self.thread_ =
        start_thread("carillon-client", [&self](std::stop_token const& stop) { self.read(stop); });
    self.introduce(deadline);
    return session;
}

ClientSession::~ClientSession() {
    thread_.request_stop();
    wakeup_.wake();
    if (thread_.joinable()) thread_.join();
}

void ClientSession::introduce(Deadline const& deadline) {
    Answer const answer = exchange(connect_call, Hello{options_.name}, deadline);
    auto const* welcome = std::get_if<Welcome>(&answer.message);
    if (welcome == nullptr) throw ProtocolError(connect_call, "the owner does not say welcome");
    owner_.name = welcome->name;
    owner_.process = static_cast<std::int32_t>(welcome->process);
    owner_.instance = welcome->instance;
}

Seen ClientSession::look(Look const& place, Deadline const& deadline) {
    Answer answer = exchange(status_call, place, deadline);
    auto* const seen = std::get_if<Seen>(&answer.message);
    if (seen == nullptr) throw ProtocolError(status_call, "the owner says something else");
    return std::move(*seen);
}

bool ClientSession::look_at_others(Seen const& first, Look place, ServedObject& object,
                                   Deadline const& deadline) {
    try {
        for (std::uint32_t places = first.places; ++place.place < places;) {
            Seen const seen = look(place, deadline);
            if (!is_same(seen, first)) return false;
            places = seen.places;
            object.blocks.push_back(block_of(seen));
        }
        return true;
    } catch (RefusedError const& error) {  // an object never has fewer places
        if (error.reason() != RefusalReason::unknown_object) throw;
        return false;
    }
}

OwnerStatus ClientSession::status() {
    OwnerStatus status;
    Deadline const deadline(options_.timeout);
    for (std::uint32_t objects = 1; status.objects.size() < objects;) {
        Look const place{static_cast<std::uint32_t>(status.objects.size()), 0};
        Seen const first = look(place, deadline);
        objects = first.objects;
        if (objects == 0) break;
        ServedObject object{
            first.object, first.kind, first.state, first.emulated, {block_of(first)}};
        if (look_at_others(first, place, object, deadline)) {
            status.objects.push_back(std::move(object));
        }
    }
    return status;
}

std::string ClientSession::why_host_memory() const {
    std::lock_guard const lock(mutex_);
    return why_host_memory_;
}

std::shared_ptr<ClientLease> ClientSession::lease_of(std::string_view object, ObjectKind kind,
                                                     MessageTypes const& types) {
    require_name(call_of(kind), "object", object);
    Attach const attach{std::string(object), kind, wire_type(types.request), wire_type(types.reply),
                        options_.host_memory};
    {
        std::lock_guard const lock(mutex_);
        states_.try_emplace(attach.object);
    }
    auto lease = map_in_time(attach);
    if (kind != ObjectKind::log) {  // whose type is the library's own
        tell_that_members_are_not_compared(types.request);
        tell_that_members_are_not_compared(types.reply);
    }
    return lease;
}

LeasedChannel ClientSession::attach(std::string_view object, MessageTypes const& types) {
    auto lease = lease_of(object, ObjectKind::kernel, types);
    MappedChannel const& mapped = lease->mapped();
    ChannelView const view = mapped.view();
    CounterWords* const counters = mapped.counters();
    ServedBy const served_by = mapped.served_by();
    return {leased(std::move(lease), view, options_.wait), counters, served_by};
}

LeasedEnd<MailboxView> ClientSession::mailbox(std::string_view object, MessageType const& type,
                                              bool to_device) {
    return mailbox_of(object, to_device ? ObjectKind::mailbox : ObjectKind::mailbox_to_host, type);
}

LeasedEnd<MailboxView> ClientSession::log(std::string_view object) {
    return mailbox_of(object, ObjectKind::log, PublishedLog::type());
}

LeasedEnd<MailboxView> ClientSession::mailbox_of(std::string_view object, ObjectKind kind,
                                                 MessageType const& type) {
    auto lease = lease_of(object, kind, {type, type});
    auto const view = lease->mapped().view_of<MailboxLayout>();
    auto end = leased(lease, view, options_.wait);
    // Two steps are for quads; here every word carries its tag (detail/protocol/mailbox.hpp).
    end.far = lease->mapped().access(PublishMode::one_step);
    return end;
}

LeasedEnd<RingView> ClientSession::ring(std::string_view object, MessageType const& type,
                                        bool to_device) {
    auto lease = lease_of(object, to_device ? ObjectKind::ring_to_device : ObjectKind::ring_to_host,
                          {type, type});
    RingView const view = to_device ? lease->mapped().view_of<RingToDeviceLayout>()
                                    : lease->mapped().view_of<RingToHostLayout>();
    return leased(std::move(lease), view, options_.wait);
}

ClientSession::LeasedChunks ClientSession::chunk_ring(std::string_view object,
                                                      MessageType const& type) {
    auto lease = lease_of(object, ObjectKind::chunk_ring, {type, type});
    auto const view = lease->mapped().view_of<ChunkRingLayout>();
    std::uint32_t const bytes = lease->mapped().attached().chunk_bytes;
    return {leased(std::move(lease), view, options_.wait), bytes};
}

std::shared_ptr<ClientLease> ClientSession::map_in_time(Attach const& attach) {
    OwnerWait const wait(options_.wait_for_owner);
    for (;;) {
        try {
            return map_anywhere(attach, Deadline(options_.timeout));
        } catch (Error const&) {
            wait.before_next_attach();
        }
    }
}

std::shared_ptr<ClientLease> ClientSession::map_anywhere(Attach attach, Deadline const& deadline) {
    char const* const call = call_of(attach.kind);
    Answer answer = exchange(call, attach, deadline);
    std::string why;
    try {
        return map(std::move(answer), attach);
    } catch (UnsupportedError const& error) {  // no Vulkan here, or none for this GPU
        why = error.what();
    } catch (VulkanError const& error) {
        why = error.what();
    }
    if (attach.host_memory) throw UnsupportedError(call, why);
    attach.host_memory = true;
    auto lease = map(exchange(call, attach, deadline), attach);
    std::lock_guard const lock(mutex_);
    why_host_memory_ = why;
    return lease;
}

std::shared_ptr<ClientLease> ClientSession::map(Answer answer, Attach const& asked) {
    char const* const call = call_of(asked.kind);
    auto const* attached = std::get_if<Attached>(&answer.message);
    if (attached == nullptr) throw ProtocolError(call, "the owner lends nothing");
    try {
        if (answer.descriptors.empty()) {
            throw SystemError(call, EMFILE, "there are none left for its memory");
        }
        require_slots(*attached, asked);
        SharedFiles files{std::move(answer.descriptors.at(0)), {}};
        if (answer.descriptors.size() > 1) files.host = std::move(answer.descriptors.at(1));
        MappedChannel mapped(call, asked.kind, *attached, std::move(files));
        auto lease = std::make_shared<ClientLease>(shared_from_this(), asked.object, *attached,
                                                   std::move(mapped));
        adopt(*lease);
        tell(Mapped{attached->lease, true, ""});
        return lease;
    } catch (std::exception const& error) {
        tell(Mapped{attached->lease, false, error.what()});
        throw;
    }
}

void ClientSession::adopt(ClientLease& lease) {
    std::lock_guard const lock(mutex_);
    leases_[lease.number()] = &lease;
    lease.set(gone_.empty() ? state_of(lease.object()) : KernelState::failed);
    if (lease.state_word() == KernelState::draining) wakeup_.wake();  // for tell_drained()
}

void ClientSession::detach(ClientLease& lease) noexcept {
    if (mark_.inherited()) return;
    std::lock_guard const lock(mutex_);
    leases_.erase(lease.number());
    try {
        send(Detach{lease.number()});
    } catch (std::exception const&) {  // the owner sees the connection close
    }
}

void ClientSession::send(Message const& message, std::uint32_t id) {
    untold_.push_back({id, encode(id, message)});
    if (untold_.size() == 1) flush();
    if (!untold_.empty()) wakeup_.wake();
}

void ClientSession::tell(Message const& message) {
    std::lock_guard const lock(mutex_);
    send(message);
}

void ClientSession::flush() {
    try {
        while (!untold_.empty()) {
            (void)socket_.send(connect_call, untold_.front().bytes);
            untold_.pop_front();
        }
    } catch (SystemError const& error) {
        if (!is_out_of_room(error.code())) untold_.pop_front();
    }
}

std::uint32_t ClientSession::ask(Message const& message) {
    auto const* const attach = std::get_if<Attach>(&message);
    auto const same = std::ranges::find_if(
        given_up_, [&](auto const& each) { return attach != nullptr && each.second == *attach; });
    if (same != given_up_.end()) {
        std::uint32_t const id = same->first;
        awaited_[id];
        given_up_.erase(same);
        return id;
    }
    std::uint32_t const id = ++last_id_;
    awaited_[id];
    send(message, id);  // where the owner has gone, that is what the wait finds
    return id;
}

void ClientSession::give_up(std::uint32_t id, Message const& message) {
    bool const was_sent =
        std::erase_if(untold_, [&](Untold const& each) { return each.id == id; }) == 0;
    auto const* const attach = std::get_if<Attach>(&message);
    if (was_sent && attach != nullptr) given_up_.emplace(id, *attach);
}

ClientSession::Answer ClientSession::exchange(std::string_view call, Message const& message,
                                              Deadline const& deadline) {
    std::unique_lock lock(mutex_);
    std::uint32_t const id = ask(message);
    auto const there = [&] { return refused_ || !gone_.empty() || awaited_[id].has_value(); };
    bool const came = answered_.wait_until(lock, deadline.at(), there);
    std::optional<Answer> answer = std::move(awaited_[id]);
    awaited_.erase(id);
    if (answer) {
        if (auto const* refused = std::get_if<Refused>(&answer->message))
            throw RefusedError(call, refused->reason, refused->text);
        return std::move(*answer);
    }
    if (refused_) throw RefusedError(call, refused_->reason, refused_->text);
    if (came) throw_gone(call);
    give_up(id, message);
    throw TimeoutError(call, fmt::format("the owner of the kernel has not answered within {}",
                                         duration_text(options_.timeout)));
}

void ClientSession::throw_gone(std::string_view call) const {
    if (talks_nonsense_) throw ProtocolError(call, gone_);
    throw OwnerGoneError(call, gone_);
}

void ClientSession::require_open(std::string_view call, std::string const& object) const {
    std::lock_guard const lock(mutex_);
    if (!gone_.empty()) throw_gone(call);
    auto const found = states_.find(object);
    if (found == states_.end()) return;
    std::string const& text = found->second.text;
    switch (found->second.state) {
        case KernelState::running:
            return;
        case KernelState::draining:
            throw StoppedError(call, "the kernel is draining: it takes no more requests");
        case KernelState::failed:
            throw StoppedError(call, "the kernel has failed: " + text);
        default:
            throw StoppedError(call, text.empty() ? "the kernel was stopped" : text);
    }
}

void ClientSession::read(std::stop_token const& stop) {
    try {
        read_until_gone(stop);
    } catch (std::exception const&) {
        lose_owner(no_memory);
    }
}

void ClientSession::read_until_gone(std::stop_token const& stop) {
    auto period = quiet_period;
    while (!stop.stop_requested()) {
        std::array<::pollfd, 3> watched{{{wakeup_.fd(), POLLIN, 0},
                                         {socket_.fd(), events_of_socket(), 0},
                                         {owners_end_.get(), POLLIN, 0}}};
        (void)::poll(watched.data(), watched.size(), static_cast<int>(period.count()));
        wakeup_.reset();
        if ((watched[1].revents & POLLOUT) != 0) {
            std::lock_guard const lock(mutex_);
            flush();
        }
        Heard const heard = receive_all();
        if (heard == Heard::end) {
            return lose_owner("the owner of the kernel has closed the connection");
        }
        // What it had sent before is heard first.
        if (heard == Heard::all && watched[2].revents != 0) {
            return lose_owner("the owner of the kernel has ended");
        }
        period = tell_drained() ? drain_period : quiet_period;
    }
}

short ClientSession::events_of_socket() const {
    std::lock_guard const lock(mutex_);
    return untold_.empty() ? POLLIN : POLLIN | POLLOUT;
}

ClientSession::Heard ClientSession::receive_all() {
    for (unsigned i = 0; i < answers_in_a_turn; ++i) {
        try {
            Received received = socket_.receive(connect_call);
            if (std::holds_alternative<NothingThere>(received)) return Heard::all;
            if (std::holds_alternative<PeerClosed>(received)) return Heard::end;
            handle(std::get<SocketMessage>(std::move(received)));
        } catch (VersionError const& error) {  // it refuses, in words of its own
            be_refused({RefusalReason::version, cause_of(error)});
            return Heard::end;
        } catch (ProtocolError const& error) {
            lose_owner(fmt::format("whoever listens there talks nonsense: {}", cause_of(error)),
                       true);
            return Heard::end;
        } catch (Error const& error) {
            lose_owner(fmt::format("what the owner sent was lost: {}", error.what()));
            return Heard::end;
        } catch (std::exception const&) {
            lose_owner(no_memory);
            return Heard::end;
        }
    }
    return Heard::much;
}

void ClientSession::handle(SocketMessage received) {
    // Whoever asked is told of those that are lost.
    Decoded decoded = decode(received.bytes, received.descriptors_lost
                                                 ? std::nullopt
                                                 : std::optional(received.descriptors.size()));
    std::lock_guard const lock(mutex_);
    if (auto const* notice = std::get_if<Notice>(&decoded.message)) {
        auto const known = states_.find(notice->object);
        if (known == states_.end()) return;
        known->second = *notice;
        for (auto const& [number, lease] : leases_) {
            if (lease->object() == notice->object) lease->set(notice->state);
        }
        // Before tell_drained() asks whether all is answered.
        if (notice->state == KernelState::draining) hear_announced();
        return;
    }
    if (auto const* ended = std::get_if<Ended>(&decoded.message)) {
        auto const found = leases_.find(ended->lease);
        if (found == leases_.end()) return;
        found->second->end(fmt::format("the owner has ended the lease: {}", ended->text));
        leases_.erase(found);
        return;
    }
    auto const awaited = awaited_.find(decoded.id);
    auto* const refused = std::get_if<Refused>(&decoded.message);
    given_up_.erase(decoded.id);
    if (awaited != awaited_.end()) {
        awaited->second = Answer{std::move(decoded.message), std::move(received.descriptors)};
    } else if (auto const* attached = std::get_if<Attached>(&decoded.message)) {
        send(Detach{attached->lease});  // the caller has given up the question
    } else if (refused != nullptr && decoded.id == 0) {
        refused_ = std::move(*refused);
    }
    answered_.notify_all();
}

void ClientSession::be_refused(Refused refused) {
    std::lock_guard const lock(mutex_);
    refused_ = std::move(refused);
    answered_.notify_all();
}

void ClientSession::lose_owner(std::string why, bool talks_nonsense) noexcept {
    std::lock_guard const lock(mutex_);
    talks_nonsense_ |= talks_nonsense && gone_.empty() && !refused_;
    try {
        if (gone_.empty()) gone_ = refused_ ? refused_->text : std::move(why);
    } catch (std::bad_alloc const&) {
        gone_ = no_memory;
    }
    // What the kernel was at last stays said: one that was stopped has no owner any more either.
    for (auto const& [number, lease] : leases_) {
        KernelState const state = state_of(lease->object());
        bool const ended = state == KernelState::stopped || state == KernelState::failed;
        lease->set(ended ? state : KernelState::failed);
    }
    answered_.notify_all();
}

KernelState ClientSession::state_of(std::string const& object) const {
    auto const found = states_.find(object);
    return found == states_.end() ? KernelState::running : found->second.state;
}

bool ClientSession::tell_drained() {
    std::lock_guard const lock(mutex_);
    bool drains = false;
    for (auto const& [number, lease] : leases_) {
        if (state_of(lease->object()) != KernelState::draining) continue;
        drains = true;
        try {
            if (lease->newly_drained()) send(Drained{number});
        } catch (std::exception const&) {  // no memory
            lease->tell_again();
        }
    }
    return drains;
}

}  // namespace carillon::detail
