// SPDX-License-Identifier: Apache-2.0
#include "metrics/endpoint.hpp"

#include <fmt/format.h>

#include <carillon/error.hpp>

#include "metrics/metrics.hpp"

#if defined(CARILLON_HTTP)
#include <httplib.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <thread>
#include <utility>

namespace carillon::tool {
namespace {

// Of a scraper, and somebody who looks: who asks in vain waits.
constexpr std::size_t endpoint_threads = 2;
constexpr std::chrono::seconds longest_silence{5};
constexpr std::size_t longest_body = 4096;

struct Address {
    std::string host;
    std::uint16_t port = 0;
};

Address parsed(std::string const& where) {
    std::size_t const colon = where.rfind(':');
    Address address;
    bool good = colon != std::string::npos && colon != 0;
    if (good) {
        char const* const end = where.data() + where.size();
        auto const [at, error] = std::from_chars(where.data() + colon + 1, end, address.port);
        good = error == std::errc() && at == end;
        address.host = where.substr(0, colon);
    }
    bool const in_brackets = address.host.starts_with('[') && address.host.ends_with(']');
    if (in_brackets) address.host = address.host.substr(1, address.host.size() - 2);
    if (!good || address.host.empty() ||
        (!in_brackets && address.host.find(':') != std::string::npos)) {
        throw UsageError("metrics", fmt::format("\"{}\" is not HOST:PORT", where));
    }
    return address;
}

}  // namespace

struct MetricsEndpoint::Server {
    std::function<std::string()> text;
    std::mutex one;
    httplib::Server http;
    std::string address;
    std::atomic<bool> over = false;
    std::jthread thread;

    explicit Server(std::function<std::string()> made) : text(std::move(made)) {}
};

MetricsEndpoint::MetricsEndpoint(std::string const& where, std::function<std::string()> text)
    : server_(std::make_unique<Server>(std::move(text))) {
    auto const [host, port] = parsed(where);
    httplib::Server& http = server_->http;
    http.new_task_queue = [] { return new httplib::ThreadPool(endpoint_threads); };
    http.set_read_timeout(longest_silence);
    http.set_write_timeout(longest_silence);
    http.set_payload_max_length(longest_body);
    http.set_keep_alive_max_count(1);
    // Of the library's two options the other lets a second process have the same port.
    http.set_socket_options([](auto socket) {
        int const yes = 1;
        (void)::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    });
    http.Get("/metrics", [server = server_.get()](httplib::Request const&, httplib::Response& to) {
        std::lock_guard const lock(server->one);
        to.set_content(server->text(), metrics_type);
    });
    errno = 0;
    int const bound = port == 0                               ? http.bind_to_any_port(host.c_str())
                      : http.bind_to_port(host.c_str(), port) ? int{port}
                                                              : -1;
    if (bound < 0) throw SystemError("listen at " + where, errno, "");
    bool const is_ipv6 = host.find(':') != std::string::npos;
    server_->address =
        fmt::format("http://{}:{}/metrics", is_ipv6 ? "[" + host + "]" : host, bound);
    server_->thread = std::jthread([server = server_.get()] {
        (void)server->http.listen_after_bind();
        server->over = true;
    });
    // What is stopped before it runs would run for ever.
    while (!http.is_running() && !server_->over) std::this_thread::yield();
}

MetricsEndpoint::~MetricsEndpoint() { server_->http.stop(); }

std::string const& MetricsEndpoint::address() const { return server_->address; }

}  // namespace carillon::tool

#else

namespace carillon::tool {

struct MetricsEndpoint::Server {
    std::string address;
};

MetricsEndpoint::MetricsEndpoint(std::string const& /*where*/,
                                 std::function<std::string()> /*text*/) {
    throw UnsupportedError("metrics", "this build has no HTTP: cpp-httplib was not there");
}
MetricsEndpoint::~MetricsEndpoint() = default;

std::string const& MetricsEndpoint::address() const { return server_->address; }

}  // namespace carillon::tool

#endif
