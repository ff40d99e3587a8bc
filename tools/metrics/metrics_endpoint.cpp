// SPDX-License-Identifier: Apache-2.0
#include "metrics/metrics_endpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/version.hpp>
#include <carillon/detail/host/thread.hpp>
#include <carillon/error.hpp>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "metrics/metrics.hpp"

namespace carillon::tool {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

// A scraper and some people need a few connections.
constexpr std::size_t most_visits = 64;
// For a whole request, and for a whole answer.
constexpr std::chrono::seconds longest_half{5};
constexpr std::uint32_t longest_head = 8192;
constexpr std::chrono::milliseconds pause_without_descriptors{10};

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

tcp::endpoint resolved(asio::io_context& context, Address const& address,
                       std::string const& where) {
    if (address.host.empty()) return {tcp::v6(), address.port};
    error_code error;
    auto const found = tcp::resolver(context).resolve(address.host, std::to_string(address.port),
                                                      tcp::resolver::numeric_service, error);
    if (error) throw Error("listen at " + where, error.message());
    return *found.begin();
}

// Not SO_REUSEPORT: with it a second process would get the same port.
tcp::acceptor listening(asio::io_context& context, tcp::endpoint const& at) {
    tcp::acceptor acceptor(context, at.protocol());
    acceptor.set_option(tcp::acceptor::reuse_address(true));
    if (at.address() == asio::ip::address_v6::any()) {
        acceptor.set_option(asio::ip::v6_only(false));  // IPv4 too
    }
    acceptor.bind(at);
    acceptor.listen();
    return acceptor;
}

tcp::acceptor listen_at(asio::io_context& context, std::string const& where) {
    Address const address = parsed(where);
    tcp::endpoint const at = resolved(context, address, where);
    try {
        try {
            return listening(context, at);
        } catch (boost::system::system_error const& error) {
            bool const no_v6 = error.code() == asio::error::address_family_not_supported ||
                               error.code().value() == EADDRNOTAVAIL;
            if (!address.host.empty() || !no_v6) throw;
            return listening(context, {tcp::v4(), address.port});
        }
    } catch (boost::system::system_error const& error) {
        throw SystemError("listen at " + where, error.code().value());
    }
}

// The path of a request's target; in the absolute form the scheme and the host come first.
beast::string_view path_of(beast::string_view target) {
    beast::string_view const scheme("http://");
    if (beast::iequals(target.substr(0, scheme.size()), scheme)) {
        target.remove_prefix(scheme.size());
        target.remove_prefix(std::min(target.find_first_of("/?"), target.size()));
    }
    return target.substr(0, target.find('?'));
}

// One connection: a request and its answer.
class Visit : public std::enable_shared_from_this<Visit> {
   public:
    // `ask`: asks for the text, which it passes to the visit.
    using Ask = std::function<void(std::shared_ptr<Visit>)>;

    Visit(tcp::socket socket, Ask const& ask) : stream_(std::move(socket)), ask_(ask) {
        request_.header_limit(longest_head);
    }

    // From here on this object lives while an operation of its stream is outstanding.
    void start() {
        stream_.expires_after(longest_half);
        http::async_read_header(stream_, buffer_, request_,
                                [self = shared_from_this()](error_code const& error, std::size_t) {
                                    self->answer(error);
                                });
    }
    void give(std::string const& text) {
        answer_.body() = text;
        send();
    }
    void close() { stream_.close(); }
    [[nodiscard]] bool reads() const { return reads_; }

   private:
    void answer(error_code const& error) {
        reads_ = false;
        if (error == http::error::header_limit) {
            answer_.result(http::status::request_header_fields_too_large);
        } else if (error) {
            return;  // it is no request, or none came in time
        } else if (make_answer(request_.get())) {
            return ask_(shared_from_this());
        }
        send();
    }
    void send() {
        answer_.keep_alive(false);
        // HEAD gets no length: it would be the length of GET's answer, which needs questions to the
        // owners.
        if (request_.get().method() != http::verb::head) answer_.prepare_payload();
        stream_.expires_after(longest_half);
        http::async_write(
            stream_, answer_,
            [self = shared_from_this()](error_code const&, std::size_t) { self->leave(); });
    }
    // Whether the answer needs the text.
    bool make_answer(http::request<http::empty_body> const& request) {
        answer_.version(request.version());
        bool const head = request.method() == http::verb::head;
        if (!head && request.method() != http::verb::get) {
            answer_.result(http::status::method_not_allowed);
            answer_.set(http::field::allow, "GET, HEAD");
        } else if (path_of(request.target()) != "/metrics") {
            answer_.result(http::status::not_found);
        } else {
            answer_.set(http::field::content_type, metrics_type);
            return !head;
        }
        return false;
    }
    // Closing a connection with unread bytes resets it, and the client might lose the answer: the
    // client's own end is awaited.
    void leave() {
        error_code ignored;
        stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        buffer_.clear();
        stream_.async_read_some(buffer_.prepare(longest_head),
                                [self = shared_from_this()](error_code const& error, std::size_t) {
                                    if (!error) self->leave();
                                });
    }

    beast::tcp_stream stream_;
    Ask const& ask_;
    beast::flat_buffer buffer_;
    http::request_parser<http::empty_body> request_;
    http::response<http::string_body> answer_;
    bool reads_ = true;
};

}  // namespace

class MetricsEndpoint::Server {
   public:
    Server(std::string const& where, std::function<std::string()> text)
        : text_(std::move(text)), acceptor_(listen_at(context_, where)) {
        std::string host = parsed(where).host;
        if (host.empty()) host = acceptor_.local_endpoint().address().to_string();
        if (host.find(':') != std::string::npos) host = "[" + host + "]";
        address_ = fmt::format("http://{}:{}/metrics", host, acceptor_.local_endpoint().port());
        accept_next();
        thread_ = detail::start_thread("carillon-http", [this] { run(); });
    }
    Server(Server const&) = delete;
    Server& operator=(Server const&) = delete;
    ~Server() { context_.stop(); }

    [[nodiscard]] std::string const& address() const { return address_; }

   private:
    void run() {
        while (!context_.stopped()) {
            try {
                (void)context_.run();
            } catch (std::exception const&) {  // out of memory: that connection ends
            }
        }
    }
    void accept_next() {
        acceptor_.async_accept([this](error_code const& error, tcp::socket socket) {
            if (!error) {
                let_in(std::move(socket));
            } else if (error == asio::error::operation_aborted) {
                return;
            } else if (!visits_.empty()) {  // no descriptor is free
                make_room();
            }
            error ? accept_later() : accept_next();
        });
    }
    void accept_later() {
        timer_.expires_after(pause_without_descriptors);
        timer_.async_wait([this](error_code const& error) {
            if (!error) accept_next();
        });
    }
    void let_in(tcp::socket socket) {
        visits_.remove_if([](std::weak_ptr<Visit> const& each) { return each.expired(); });
        if (visits_.size() == most_visits) make_room();
        auto const visit = std::make_shared<Visit>(std::move(socket), ask_);
        visits_.push_back(visit);
        visit->start();
    }
    // Makes one call of text_() at a time, for all visits that wait.
    void ask(std::shared_ptr<Visit> visit) {
        waiting_.push_back(std::move(visit));
        if (asks_.exchange(true)) return;
        asio::post(asker_, [this] {
            try {
                asio::post(context_, [this, text = text_()] {
                    asks_ = false;
                    for (auto const& each : std::exchange(waiting_, {})) each->give(text);
                });
            } catch (std::exception const&) {  // out of memory: a later request may succeed
                asks_ = false;
            }
        });
    }
    // Closes the oldest connection that has sent no whole request, or else the oldest one.
    void make_room() {
        auto victim = visits_.begin();
        for (auto each = visits_.begin(); each != visits_.end(); ++each) {
            auto const visit = each->lock();
            if (visit == nullptr || !visit->reads()) continue;
            victim = each;
            break;
        }
        if (auto const visit = victim->lock()) {
            visit->close();
            std::erase(waiting_, visit);
        }
        visits_.erase(victim);
    }

    std::function<std::string()> text_;
    asio::io_context context_{1};
    tcp::acceptor acceptor_;
    asio::steady_timer timer_{context_};
    std::list<std::weak_ptr<Visit>> visits_;  // the oldest first
    std::vector<std::shared_ptr<Visit>> waiting_;
    Visit::Ask ask_ = [this](std::shared_ptr<Visit> visit) { ask(std::move(visit)); };
    std::string address_;
    std::atomic<bool> asks_ = false;
    asio::thread_pool asker_{1};
    detail::Thread thread_;  // ends before anything that it uses
};

MetricsEndpoint::MetricsEndpoint(std::string const& where, std::function<std::string()> text)
    : server_(std::make_unique<Server>(where, std::move(text))) {}

MetricsEndpoint::~MetricsEndpoint() = default;

std::string const& MetricsEndpoint::address() const { return server_->address(); }

}  // namespace carillon::tool
