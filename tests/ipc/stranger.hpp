// SPDX-License-Identifier: Apache-2.0
// Clients of the library's own messages: one that connects to an owner and sends any message, and
// one whose leases the test looks at.
#pragma once

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "carillon/error.hpp"
#include "ipc/ipc_handlers.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "serving/client_session.hpp"
#include "support/eventually.hpp"

namespace carillon::test {

inline detail::UnixSocket stranger_at(std::string const& path) {
    return detail::connect_unix(path, patience);
}

// `name`: of the client; empty: this program's.
inline std::shared_ptr<detail::ClientSession> session_at(std::string const& path,
                                                         std::string const& name = {}) {
    return detail::make_shared_own<detail::ClientSession>(
        detail::Link::connect(path, {.name = name, .timeout = patience}));
}
inline detail::MessageTypes types_of_asks() {
    return detail::MessageTypes::of<detail::OneRequest<Ask, Told>>();
}
inline detail::ChannelParts lease_of(detail::ClientSession& session,
                                     std::string const& kernel = "kernel") {
    return session.attach(kernel, types_of_asks());
}
inline detail::Attach wish_for(std::string const& kernel) {
    auto const types = types_of_asks();
    return {kernel, ObjectKind::kernel, types.request, types.reply, true};
}

// False: it has been dropped.
inline bool say(detail::UnixSocket const& stranger, detail::Message const& message,
                std::uint32_t id = 1) {
    return stranger.send(detail::encode(id, message));
}

// More than a message may have.
inline bool say_too_much(detail::UnixSocket const& stranger) {
    std::vector<std::byte> const bytes(detail::most_socket_bytes + 1);
    return ::send(stranger.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0;
}

// A stranger that has introduced itself to the owner.
inline detail::UnixSocket known_at(std::string const& path, std::string const& name = "stranger") {
    detail::UnixSocket known = stranger_at(path);
    EXPECT_TRUE(say(known, detail::Hello{name}));
    return known;
}

// The next message of the owner, if one has come.
inline std::optional<detail::Decoded> heard_by(detail::UnixSocket const& stranger) {
    auto const received = stranger.receive();
    auto const* message = std::get_if<detail::SocketMessage>(&received);
    if (message == nullptr) return {};
    return detail::decode(message->bytes, message->descriptors.size());
}

// Waits until the stranger is dropped, and returns the reason that it got before.
inline std::optional<RefusalReason> last_words(detail::UnixSocket const& stranger) {
    std::optional<RefusalReason> reason;
    EXPECT_TRUE(eventually([&] {
        auto const received = stranger.receive();
        if (auto const* message = std::get_if<detail::SocketMessage>(&received)) {
            auto const decoded = detail::decode(message->bytes, message->descriptors.size());
            auto const* refused = std::get_if<detail::Refused>(&decoded.message);
            if (refused != nullptr) reason = refused->reason;
        }
        return std::holds_alternative<detail::PeerClosed>(received);
    }));
    return reason;
}

}  // namespace carillon::test
