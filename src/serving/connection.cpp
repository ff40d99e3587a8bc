// SPDX-License-Identifier: Apache-2.0
#include "carillon/connection.hpp"

#include "carillon/detail/host/owned.hpp"
#include "carillon/store.hpp"
#include "serving/buffer_access.hpp"
#include "serving/client_session.hpp"
#include "serving/log_reader_state.hpp"

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
detail::LeasedEnd<typename Layout::View> Connection::end_of(std::string_view object,
                                                            ObjectKind kind,
                                                            detail::MessageType const& type) const {
    return owned_here(session_).template end_of<Layout>(object, kind, type);
}
#define CARILLON_END_OF(Layout)                                                          \
    template detail::LeasedEnd<detail::Layout::View> Connection::end_of<detail::Layout>( \
        std::string_view, ObjectKind, detail::MessageType const&) const;
CARILLON_END_OF(MailboxLayout)
CARILLON_END_OF(RingToDeviceLayout)
CARILLON_END_OF(RingToHostLayout)
CARILLON_END_OF(ChunkRingLayout)
#undef CARILLON_END_OF

}  // namespace carillon
