// SPDX-License-Identifier: Apache-2.0
#include "carillon/server.hpp"

#include <utility>

#include "carillon/detail/host/owned.hpp"
#include "carillon/store.hpp"
#include "serving/endpoint.hpp"

namespace carillon {
using detail::Endpoint;
using detail::in_call_to;

namespace {

ServeOptions with_name(ServeOptions options, std::string_view name) {
    if (!options.name) options.name.emplace(name);
    return options;
}

}  // namespace

Server::Server(ServeOptions const& options) try
    : endpoint_(detail::Endpoint::make(with_name(options, "kernel"))) {
} catch (...) {
    detail::throw_named("Server");
}
Server::Server(PathArgument const& path, ServeOptions const& options) try : Server(options) {
    open(path);
} catch (...) {
    detail::throw_named("Server");
}

void Server::open(PathArgument const& path) {
    in_call_to("Server::open", endpoint_, &Endpoint::open, path);
}

void Server::add(Store const& store) {
    in_call_to("Server::add", endpoint_, [&](Endpoint& endpoint) {
        endpoint.add(detail::owned_here(store.access_).table());
    });
}

std::filesystem::path const& Server::path() const {
    return in_call_to("Server::path", endpoint_, &Endpoint::path);
}
std::vector<ConnectedClient> Server::clients() const {
    return in_call_to("Server::clients", endpoint_, &Endpoint::clients);
}

namespace detail {

Server ServerMaker::make(std::filesystem::path const& path, std::shared_ptr<Lendable> kernel,
                         ServeOptions const& options, std::string_view name) {
    Server server(with_name(options, name));
    add(server, name, std::move(kernel));
    server.open(path);
    return server;
}

void ServerMaker::add(Server& server, std::string_view name, std::shared_ptr<Lendable> object) {
    owned_here(server.endpoint_).add(std::make_unique<ServedItem>(name, std::move(object)));
}

}  // namespace detail
}  // namespace carillon
