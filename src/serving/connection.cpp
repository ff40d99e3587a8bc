// SPDX-License-Identifier: Apache-2.0
#include "carillon/connection.hpp"

#include "carillon/detail/host/owned.hpp"
#include "carillon/store.hpp"
#include "serving/buffer_access.hpp"
#include "serving/client_session.hpp"
#include "serving/log_reader_state.hpp"

namespace carillon {

ChannelCounters ServedBlock::all() const {
    return {gone.submitted + counters.submitted, gone.answered + counters.answered,
            gone.taken + counters.taken,         gone.dropped + counters.dropped,
            gone.stalls + counters.stalls,       counters.depth};
}

Connection::Connection(PathArgument const& path, ConnectOptions const& options)
    : session_(detail::ClientSession::make(detail::Link::connect("Connection", path, options))) {}
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;
Connection::~Connection() = default;

detail::ClientSession& Connection::session(std::string_view call) const {
    detail::ClientSession& session = detail::owned(session_, call);
    session.require_own(call);
    return session;
}

ConnectedOwner const& Connection::owner() const {
    return session("Connection::owner").link().owner();
}

OwnerStatus Connection::status() const { return session("Connection::status").status(); }

Store Connection::store() const {
    constexpr char const* call = "Connection::store";
    return Store(detail::find_store(call, session(call).link().again(call)));
}

std::string Connection::why_host_memory() const {
    return session("Connection::why_host_memory").why_host_memory();
}

detail::LeasedChannel Connection::attach(std::string_view object,
                                         detail::MessageTypes const& types) const {
    return session("Connection::channel").attach(object, types);
}

detail::LeasedEnd<detail::MailboxView> Connection::mailbox_end(std::string_view object,
                                                               detail::MessageType const& type,
                                                               bool to_device) const {
    auto const kind = to_device ? ObjectKind::mailbox : ObjectKind::mailbox_to_host;
    return session("Connection::mailbox").mailbox(object, type, kind);
}

LogReader Connection::log(NameArgument object) const {
    return LogReader(detail::LogReaderState::make(
        session("Connection::log").mailbox(object, detail::PublishedLog::type(), ObjectKind::log)));
}

detail::LeasedEnd<detail::RingView> Connection::ring_end(std::string_view object,
                                                         detail::MessageType const& type,
                                                         bool to_device) const {
    return session("Connection::ring").ring(object, type, to_device);
}

std::shared_ptr<detail::ChunkRingState> Connection::chunk_ring_end(
    std::string_view object, detail::MessageType const& type) const {
    auto const chunks = session("Connection::chunk_ring").chunk_ring(object, type);
    return std::make_shared<detail::ChunkRingState>(chunks.end, chunks.chunk_bytes);
}

}  // namespace carillon
