// SPDX-License-Identifier: Apache-2.0
#include "metrics/http_visit.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>

namespace carillon::tool {
namespace {

constexpr std::size_t longest_head = 8192;
constexpr std::string_view end_of_head = "\r\n\r\n";

bool may_go_on(int error) { return error == EAGAIN || error == EINTR; }

}  // namespace

short HttpVisit::events() const { return state_ == State::answers ? POLLOUT : POLLIN; }

std::string_view HttpVisit::path() const {
    std::string_view const line = std::string_view(request_).substr(0, request_.find("\r\n"));
    std::size_t const first = line.find(' ');
    std::size_t const last = line.rfind(' ');
    bool const is_request = first != last && line.substr(last + 1).starts_with("HTTP/1.");
    std::string_view const method = line.substr(0, first);
    if (!is_request || (method != "GET" && method != "HEAD")) return {};
    std::string_view const target = line.substr(first + 1, last - first - 1);
    return target.substr(0, target.find('?'));
}

void HttpVisit::go_on() {
    switch (state_) {
        case State::reads:
            return read();
        case State::answers:
            return send();
        case State::leaves:
            return discard();
        default:
            return;
    }
}

void HttpVisit::read() {
    std::array<char, 4096> bytes;
    ssize_t const got = ::recv(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got < 0 && may_go_on(errno)) return;
    if (got <= 0) {
        state_ = State::over;
        return;
    }
    request_.append(bytes.data(), static_cast<std::size_t>(got));
    if (request_.find(end_of_head) != std::string::npos) {
        state_ = State::asks;
    } else if (request_.size() > longest_head) {
        answer("431 Request Header Fields Too Large", "text/plain", "");
    }
}

void HttpVisit::answer(std::string_view status, std::string_view type, std::string_view body) {
    deadline_ = Clock::now() + longest_half;
    answer_ = fmt::format(
        "HTTP/1.1 {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        status, type, body.size());
    if (!request_.starts_with("HEAD ")) answer_ += body;
    state_ = State::answers;
    send();
}

// A connection that is closed with bytes unread is reset, and the client might lose the answer: its
// own end is waited for.
void HttpVisit::send() {
    std::string_view const left = std::string_view(answer_).substr(sent_);
    ssize_t const sent = ::send(fd(), left.data(), left.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (sent < 0 && may_go_on(errno)) return;
    sent_ += sent < 0 ? 0 : static_cast<std::size_t>(sent);
    if (sent < 0) {
        state_ = State::over;
    } else if (sent_ == answer_.size()) {
        (void)::shutdown(fd(), SHUT_WR);
        state_ = State::leaves;
    }
}

void HttpVisit::discard() {
    std::array<char, 4096> bytes;
    ssize_t const got = ::recv(fd(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got == 0 || (got < 0 && !may_go_on(errno))) state_ = State::over;
}

}  // namespace carillon::tool
