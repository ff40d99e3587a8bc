// SPDX-License-Identifier: Apache-2.0
// The session of a Connection, and Connection itself.
#include "serving/client_session.hpp"

#include <fmt/format.h>

#include <bit>
#include <set>

#include "carillon/detail/host/owned.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/detail/machine/process_fence.hpp"
#include "carillon/error.hpp"
#include "carillon/store.hpp"
#include "os/process.hpp"
#include "serving/buffer_access.hpp"
#include "serving/object_kinds.hpp"
#include "serving/published_log.hpp"

namespace carillon::detail {
namespace {

// The types that a line has named.
struct ToldTypes {
    std::mutex mutex;
    std::set<std::string> names;
};

// Tells once for each type whose name is known.
void tell_that_members_are_not_compared(MessageType const& type) {
    if (type.layout == 0 || type.members != unsaid_members) return;
    auto& told = PerProcess<ToldTypes>::get();
    std::lock_guard const lock(told.mutex);
    if (!told.names.insert(type.name).second) return;
    say_line(
        fmt::format("carillon: the name and the size of {} are compared with the owner's, its "
                    "members are not: write CARILLON_MEMBERS(...), with all of them, into the "
                    "struct and into each struct within it (docs/guide/processes.md)",
                    type.name));
}

// The owner has compared them too, if it is what it should be.
void require_slots(Attached const& attached, Attach const& asked) {
    if (attached.shape.request_lines == asked.request.slot_lines &&
        attached.shape.reply_lines == asked.reply.slot_lines)
        return;
    throw ProtocolError(
        fmt::format("the owner's slots have {} and {} lines, but these types need {} and {}",
                    attached.shape.request_lines, attached.shape.reply_lines,
                    asked.request.slot_lines, asked.reply.slot_lines));
}

// Whether two looks have met one object in one state: another one may have got its name in between.
// A mailbox and a log get more places with their readers; a kernel has as many as ever.
bool is_same(Seen const& seen, Seen const& first) {
    return seen.object == first.object && seen.kind == first.kind && seen.state == first.state &&
           (seen.kind != ObjectKind::kernel || seen.places == first.places);
}

void require_sizes(ObjectKind kind, Attached const& attached) {
    KindRow const& row = kind_row(kind);
    auto const [capacity, request, reply] = attached.shape;
    if (!row.any_lines && !(std::has_single_bit(request) && std::has_single_bit(reply))) {
        throw ProtocolError(
            fmt::format("slots of {} and {} lines: not powers of two", request, reply));
    }
    if (row.chunks && attached.chunk_bytes == 0) throw ProtocolError("chunks of 0 bytes");
    auto const [device, host] = row.bytes(attached.shape, attached.chunk_bytes);
    bool const both = (host == 0) == (attached.host_bytes == 0);
    if (both && attached.memory.bytes >= device && attached.host_bytes >= host) return;
    throw ProtocolError(
        fmt::format("the owner lent {} and {} bytes of memory for a {} that needs {} and {}",
                    attached.memory.bytes, attached.host_bytes,
                    kind == ObjectKind::kernel ? "channel" : row.name, device, host));
}

}  // namespace

MappedChannel::MappedChannel(ObjectKind kind, Attached const& attached,
                             std::vector<FileDescriptor> files)
    : attached_((require_sizes(kind, attached), attached)),
      device_(std::move(files.at(0)), attached.memory.bytes, attached.memory.source,
              attached.memory.uuid,
              kind_row(kind).published ? MapAccess::read : MapAccess::read_write) {
    if (attached.host_bytes == 0) return;
    host_.emplace(std::move(files.at(1)), attached.host_bytes, MemorySource::host, std::nullopt);
}

bool ClientSession::look_at_others(Seen const& first, Look place, ServedObject& object,
                                   Deadline const& deadline) {
    try {
        for (std::uint32_t places = first.places; ++place.place < places;) {
            Seen seen = look(place, deadline);
            if (!is_same(seen, first)) return false;
            places = seen.places;
            object.blocks.push_back(std::move(seen.block));
        }
        return true;
    } catch (RefusedError const& error) {  // an object never has fewer places
        if (error.reason() != RefusalReason::unknown_object) throw;
        return false;
    }
}

OwnerStatus ClientSession::status() {
    OwnerStatus status;
    Deadline const deadline = link_->due();
    for (std::uint32_t objects = 1; status.objects.size() < objects;) {
        Look const place{static_cast<std::uint32_t>(status.objects.size()), 0};
        Seen const first = look(place, deadline);
        objects = first.objects;
        status.store = first.store;
        if (objects == 0) break;
        ServedObject object{first.object, first.kind, first.state, first.emulated, {first.block}};
        if (look_at_others(first, place, object, deadline)) {
            status.objects.push_back(std::move(object));
        }
    }
    return status;
}

std::shared_ptr<ClientLease> ClientSession::lease_of(std::string_view object, ObjectKind kind,
                                                     MessageTypes const& types) {
    require_name("object", object);
    Attach const attach{std::string(object), kind, types.request, types.reply,
                        link_->options().host_memory};
    {
        auto const lock = link_->lock();
        states_.try_emplace(attach.object);
    }
    link_->listen(*this);
    auto lease = keep_trying(link_->options().wait_for_owner, pause_of_attach, [&] {
        // In host memory if the device's cannot be mapped here.
        Deadline const deadline = link_->due();
        Attach asked = attach;
        return link_->in_either_memory(asked.host_memory,
                                       [&] { return map(link_->ask(asked, deadline), asked); });
    });
    if (kind != ObjectKind::log) {  // the type of a log is the library's own
        tell_that_members_are_not_compared(types.request);
        tell_that_members_are_not_compared(types.reply);
    }
    return lease;
}

ChannelParts ClientSession::attach(std::string_view object, MessageTypes const& types) {
    auto lease = lease_of(object, ObjectKind::kernel, types);
    MappedChannel const& mapped = lease->mapped();
    return {.view = mapped.view(),
            .far = mapped.access(),
            .wait = mapped.wait(link_->options().wait),
            .counters = mapped.counters(),
            .served_by = mapped.served_by(),
            .kernel = lease,
            .lease = lease};
}

std::shared_ptr<ClientLease> ClientSession::map(OwnerAnswer answer, Attach const& asked) {
    auto const* const attached = &said<Attached>(answer);
    try {
        if (answer.descriptors.size() < descriptors_of(answer.message)) {
            throw SystemError({}, EMFILE,
                              "this process has no descriptor left for the object's memory");
        }
        require_slots(*attached, asked);
        MappedChannel mapped(asked.kind, *attached, std::move(answer.descriptors));
        auto lease =
            std::make_shared<ClientLease>(shared_from_this(), asked.object, std::move(mapped));
        adopt(*lease);
        link_->tell(Mapped{attached->lease, true, ""});
        return lease;
    } catch (std::exception const& error) {
        link_->tell(Mapped{attached->lease, false, error.what()});
        throw;
    }
}

void ClientSession::adopt(ClientLease& lease) {
    auto const lock = link_->lock();
    leases_[lease.number()] = &lease;
    lease.set(link_->gone(lock) ? KernelState::failed : state_of(lease.object()));
    if (lease.state_word() == KernelState::draining) link_->wake();  // for tell_drained()
}

void ClientSession::detach(ClientLease& lease) noexcept {
    if (mark_.inherited()) return;
    auto const lock = link_->lock();
    leases_.erase(lease.number());
    (void)link_->tell(lock, Detach{lease.number()});
}

void ClientSession::require_open(std::string const& object) const {
    auto const lock = link_->lock();
    link_->require_there(lock);
    auto const found = states_.find(object);
    if (found == states_.end()) return;
    std::string const& text = found->second.text;
    switch (found->second.state) {
        case KernelState::running:
            return;
        case KernelState::draining:
            throw StoppedError("the kernel is draining and takes no more requests");
        case KernelState::failed:
            throw StoppedError("the kernel has failed: " + text);
        default:
            throw StoppedError(text.empty() ? "the kernel was stopped" : text);
    }
}

void ClientSession::hear(Notice const& notice) {
    auto const known = states_.find(notice.object);
    if (known == states_.end()) return;
    known->second = notice;
    for (auto const& [number, lease] : leases_) {
        if (lease->object() == notice.object) lease->set(notice.state);
    }
    // This comes before tell_drained() asks whether all is answered.
    if (notice.state == KernelState::draining) hear_announced();
}

void ClientSession::hear(Ended const& ended) {
    auto const found = leases_.find(ended.lease);
    if (found == leases_.end()) return;
    found->second->end(fmt::format("the owner has ended the lease: {}", ended.text));
    leases_.erase(found);
}

void ClientSession::lose_owner() noexcept {
    // The last known state of a kernel stays: a kernel that was stopped has no owner any more
    // either.
    for (auto const& [number, lease] : leases_) {
        KernelState const state = state_of(lease->object());
        bool const ended = state == KernelState::stopped || state == KernelState::failed;
        lease->set(ended ? state : KernelState::failed);
    }
}

bool ClientSession::tell_drained(Link::Lock const& lock) {
    bool drains = false;
    for (auto const& [number, lease] : leases_) {
        if (state_of(lease->object()) != KernelState::draining) continue;
        drains = true;
        if (lease->newly_drained() && !link_->tell(lock, Drained{number})) lease->tell_again();
    }
    return drains;
}

}  // namespace carillon::detail

namespace carillon {
using detail::ClientSession;
using detail::in_call_to;
using detail::owned_here;

ChannelCounters ServedBlock::all() const {
    return {gone.submitted + counters.submitted, gone.answered + counters.answered,
            gone.taken + counters.taken,         gone.dropped + counters.dropped,
            gone.stalls + counters.stalls,       counters.depth};
}

Connection::Connection(PathArgument const& path, ConnectOptions const& options) try
    : session_(detail::make_shared_own<ClientSession>(detail::Link::connect(path, options))) {
} catch (...) {
    detail::throw_named("Connection");
}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

ConnectedOwner const& Connection::owner() const {
    return in_call_to(
        "Connection::owner", session_,
        [](ClientSession const& session) -> auto& { return session.link().owner(); });
}

OwnerStatus Connection::status() const {
    return in_call_to("Connection::status", session_, &ClientSession::status);
}

Store Connection::store() const {
    return in_call_to("Connection::store", session_, [](ClientSession const& session) {
        return Store(detail::find_store(session.link().again()));
    });
}

std::string Connection::why_host_memory() const {
    return in_call_to("Connection::why_host_memory", session_, [](ClientSession const& session) {
        return session.link().why_host_memory();
    });
}

detail::ChannelParts Connection::attach(std::string_view object,
                                        detail::MessageTypes const& types) const {
    return in_call_to("Connection::channel", session_, &ClientSession::attach, object, types);
}

LogReader Connection::log(NameArgument object) const {
    return in_call_to("Connection::log", session_, [&](ClientSession& session) {
        return LogReader(
            detail::make_shared_own<detail::LogReaderState>(session.end_of<detail::MailboxLayout>(
                object, ObjectKind::log, detail::PublishedLog::type())));
    });
}

template <class Layout>
detail::ObjectEnd<typename Layout::View> Connection::end_of(std::string_view object,
                                                            ObjectKind kind,
                                                            detail::MessageType const& type) const {
    return owned_here(session_).template end_of<Layout>(object, kind, type);
}
#define CARILLON_END_OF(Layout)                                                          \
    template detail::ObjectEnd<detail::Layout::View> Connection::end_of<detail::Layout>( \
        std::string_view, ObjectKind, detail::MessageType const&) const;
CARILLON_END_OF(MailboxLayout)
CARILLON_END_OF(RingToDeviceLayout)
CARILLON_END_OF(RingToHostLayout)
CARILLON_END_OF(ChunkRingLayout)
#undef CARILLON_END_OF

}  // namespace carillon
