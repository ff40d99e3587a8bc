// SPDX-License-Identifier: Apache-2.0
#include "carillon/server.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "carillon/store.hpp"
#include "serving/endpoint.hpp"

namespace carillon {
namespace {

ServeOptions with_name(ServeOptions options, char const* name) {
    if (!options.name) options.name = name;
    return options;
}

}  // namespace

Server::Server(ServeOptions const& options)
    : endpoint_(detail::Endpoint::make(with_name(options, "kernel"))) {}
Server::Server(PathArgument const& path, ServeOptions const& options) : Server(options) {
    open(path);
}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

detail::Endpoint& Server::endpoint(char const* call) const {
    detail::Endpoint& endpoint = detail::owned(endpoint_, call);
    endpoint.require_own(call);
    return endpoint;
}

void Server::open(PathArgument const& path) { endpoint("Server::open").open(path); }

void Server::add(Store const& store) {
    constexpr char const* call = "Server::add";
    endpoint(call).add(store.access(call).table(call));
}

std::filesystem::path const& Server::path() const { return endpoint("Server::path").path(); }
std::vector<ConnectedClient> Server::clients() const {
    return endpoint("Server::clients").clients();
}

namespace detail {

Server ServerMaker::make(std::filesystem::path const& path, std::shared_ptr<Lender> kernel,
                         ServeOptions const& options) {
    Server server(options);
    add(server, *with_name(options, "kernel").name, std::move(kernel));
    server.open(path);
    return server;
}

void ServerMaker::add(Server& server, std::string_view name, std::shared_ptr<Lender> kernel) {
    server.endpoint("Server::add").add(serve_lender(std::string(name), std::move(kernel)));
}

void ServerMaker::share(Server& server, std::string_view name, std::shared_ptr<Lender> object) {
    server.endpoint("Server::share").add(serve_lender(std::string(name), std::move(object)));
}

void ServerMaker::share(Server& server, std::string_view name,
                        std::shared_ptr<PublishedObject> object) {
    server.endpoint("Server::share").add(serve_published(std::string(name), std::move(object)));
}

}  // namespace detail
}  // namespace carillon
