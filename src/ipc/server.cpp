// SPDX-License-Identifier: Apache-2.0
#include "carillon/server.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "ipc/server_thread.hpp"

namespace carillon {

Server::Server(std::filesystem::path const& path, std::shared_ptr<detail::Leases> leases,
               ServeOptions const& options)
    : thread_(detail::ServerThread::make(path, std::move(leases), options)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

detail::ServerThread& Server::thread(char const* call) const {
    detail::ServerThread& thread = detail::owned(thread_, call);
    thread.require_own(call);
    return thread;
}

std::filesystem::path const& Server::path() const { return thread("Server::path").path(); }
std::vector<ConnectedClient> Server::clients() const { return thread("Server::clients").clients(); }

}  // namespace carillon
