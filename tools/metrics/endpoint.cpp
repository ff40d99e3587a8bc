// SPDX-License-Identifier: Apache-2.0
#include "metrics/endpoint.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <carillon/error.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "metrics/metrics.hpp"

namespace carillon::tool {
namespace {

// A scraper and some people that look need a few; the others are there for no good.
constexpr std::size_t most_visits = 64;

struct Address {
    std::string host;  // empty: every address
    std::uint16_t port = 0;
};

Address parsed(std::string const& where) {
    std::size_t const colon = where.rfind(':');
    Address address;
    bool good = colon != std::string::npos;
    if (good) {
        char const* const end = where.data() + where.size();
        auto const [at, error] = std::from_chars(where.data() + colon + 1, end, address.port);
        good = error == std::errc() && at == end;
        address.host = where.substr(0, colon);
    }
    bool const in_brackets = address.host.starts_with('[') && address.host.ends_with(']');
    if (in_brackets) address.host = address.host.substr(1, address.host.size() - 2);
    if (!good || (in_brackets && address.host.empty()) ||
        (!in_brackets && address.host.find(':') != std::string::npos)) {
        throw UsageError("metrics", fmt::format("\"{}\" is not HOST:PORT", where));
    }
    return address;
}

using Found = std::unique_ptr<::addrinfo, decltype(&::freeaddrinfo)>;

Found find_address(std::string const& where, Address const& address) {
    ::addrinfo wanted{};
    wanted.ai_socktype = SOCK_STREAM;
    wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
    ::addrinfo* found = nullptr;
    int const error = ::getaddrinfo(address.host.empty() ? nullptr : address.host.c_str(),
                                    std::to_string(address.port).c_str(), &wanted, &found);
    if (error == EAI_SYSTEM) throw SystemError("listen at " + where, errno);
    if (error != 0) throw Error("listen at " + where, ::gai_strerror(error));
    return {found, &::freeaddrinfo};
}

// Not SO_REUSEPORT, by which a second process would have the same port.
FileDescriptor listen_at(::addrinfo const& address) {
    FileDescriptor socket(::socket(address.ai_family,
                                   address.ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK,
                                   address.ai_protocol));
    int const yes = 1;
    bool const listens =
        socket.get() >= 0 &&
        ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) == 0 &&
        ::bind(socket.get(), address.ai_addr, address.ai_addrlen) == 0 &&
        ::listen(socket.get(), SOMAXCONN) == 0;
    return listens ? std::move(socket) : FileDescriptor();
}

FileDescriptor listener_at(std::string const& where) {
    Found const found = find_address(where, parsed(where));
    for (::addrinfo const* each = found.get(); each != nullptr; each = each->ai_next) {
        FileDescriptor socket = listen_at(*each);
        if (socket.get() >= 0) return socket;
    }
    throw SystemError("listen at " + where, errno);
}

std::uint16_t port_of(FileDescriptor const& listener) {
    ::sockaddr_storage address{};
    ::socklen_t size = sizeof(address);
    (void)::getsockname(listener.get(), reinterpret_cast<::sockaddr*>(&address), &size);
    // The port is at the same place of both.
    return ntohs(reinterpret_cast<::sockaddr_in const&>(address).sin_port);
}

std::string url_of(std::string const& where, FileDescriptor const& listener) {
    std::string host = parsed(where).host;
    if (host.empty()) host = "0.0.0.0";
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    return fmt::format("http://{}:{}/metrics", host, port_of(listener));
}

}  // namespace

MetricsEndpoint::MetricsEndpoint(std::string const& where, std::function<std::string()> text)
    : text_(std::move(text)),
      listener_(listener_at(where)),
      wakeup_(::eventfd(0, EFD_CLOEXEC)),
      address_(url_of(where, listener_)) {
    if (wakeup_.get() < 0) throw SystemError("eventfd", errno);
    thread_ = std::jthread([this](std::stop_token const& stop) { serve(stop); });
}

MetricsEndpoint::~MetricsEndpoint() {
    thread_.request_stop();
    std::uint64_t const one = 1;
    (void)!::write(wakeup_.get(), &one, sizeof(one));
}

void MetricsEndpoint::serve(std::stop_token const& stop) {
    while (!stop.stop_requested()) {
        try {
            take_turn();
        } catch (std::exception const&) {  // no memory: those that need it do without
            visits_.clear();
        }
    }
}

std::vector<::pollfd> MetricsEndpoint::watched() const {
    std::vector<::pollfd> all{{wakeup_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
    for (HttpVisit const& visit : visits_) all.push_back({visit.fd(), visit.events(), 0});
    return all;
}

void MetricsEndpoint::take_turn() {
    std::vector<::pollfd> all = watched();
    constexpr int longest_ms = 100;  // deadlines are looked at so often
    (void)::poll(all.data(), all.size(), visits_.empty() ? -1 : longest_ms);
    for (std::size_t i = 0; i < visits_.size(); ++i) {
        if (all[i + 2].revents != 0) visits_[i].go_on();
    }
    if (all[1].revents != 0) accept_all();
    answer_all();
    auto const now = HttpVisit::Clock::now();
    std::erase_if(visits_, [now](HttpVisit const& visit) {
        return visit.state() == HttpVisit::State::over || now >= visit.deadline();
    });
}

void MetricsEndpoint::accept_all() {
    for (std::size_t i = 0; i < most_visits; ++i) {
        FileDescriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
        bool const no_descriptors = socket.get() < 0 && (errno == EMFILE || errno == ENFILE);
        if (no_descriptors || visits_.size() == most_visits) make_room();
        if (no_descriptors) std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (socket.get() < 0) return;
        visits_.emplace_back(std::move(socket)).go_on();
    }
}

void MetricsEndpoint::make_room() {
    if (visits_.empty()) return;
    auto const asks_for_nothing = [](HttpVisit const& visit) {
        return visit.state() == HttpVisit::State::reads ||
               visit.state() == HttpVisit::State::leaves;
    };
    auto const victim = std::ranges::find_if(visits_, asks_for_nothing);
    visits_.erase(victim == visits_.end() ? visits_.begin() : victim);
}

// Owners are asked once for all that have asked meanwhile.
void MetricsEndpoint::answer_all() {
    std::optional<std::string> text;
    for (HttpVisit& visit : visits_) {
        if (visit.state() != HttpVisit::State::asks) continue;
        if (visit.path() == "/metrics") {
            if (!text) text = text_();
            visit.answer("200 OK", metrics_type, *text);
        } else if (visit.path().empty()) {
            visit.answer("405 Method Not Allowed\r\nAllow: GET, HEAD", "text/plain", "");
        } else {
            visit.answer("404 Not Found", "text/plain", "");
        }
    }
}

}  // namespace carillon::tool
