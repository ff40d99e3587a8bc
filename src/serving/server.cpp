// SPDX-License-Identifier: Apache-2.0
#include "carillon/server.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "serving/server_thread.hpp"

namespace carillon {

Server::Server(ServeOptions const& options) : thread_(detail::ServerThread::make(options)) {}
Server::Server(PathArgument const& path, ServeOptions const& options) : Server(options) {
    open(path);
}
Server::Server(std::filesystem::path const& path, std::shared_ptr<detail::Leases> leases,
               ServeOptions const& options)
    : Server(options) {
    add(options.name, std::move(leases));
    open(path);
}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

detail::ServerThread& Server::thread(char const* call) const {
    detail::ServerThread& thread = detail::owned(thread_, call);
    thread.require_own(call);
    return thread;
}

void Server::open(PathArgument const& path) { thread("Server::open").open(path); }

void Server::add(std::string_view name, std::shared_ptr<detail::Leases> leases) {
    thread("Server::add").add(detail::serve_kernel(std::string(name), std::move(leases)));
}

void Server::share(std::string_view name, std::shared_ptr<detail::SharedObject> object) {
    thread("Server::share").add(detail::serve_object(std::string(name), std::move(object)));
}

void Server::share(std::string_view name, std::shared_ptr<detail::PublishedObject> object) {
    thread("Server::share").add(detail::serve_published(std::string(name), std::move(object)));
}

std::filesystem::path const& Server::path() const { return thread("Server::path").path(); }
std::vector<ConnectedClient> Server::clients() const { return thread("Server::clients").clients(); }

}  // namespace carillon
