// SPDX-License-Identifier: Apache-2.0
// One HTTP connection, from its request to the end of its answer: for the endpoint of metrics.
#pragma once

#include <carillon/memory.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace carillon::tool {

// A request is a GET or a HEAD; its body, if it has one, is not looked at. No call waits.
class HttpVisit {
   public:
    using Clock = std::chrono::steady_clock;
    enum class State : std::uint8_t {
        reads,    // the head of the request is not whole yet
        asks,     // it is: answer() is due
        answers,  // not all of the answer is sent
        leaves,   // all is sent: the client closes the connection
        over,
    };

    explicit HttpVisit(FileDescriptor socket) : socket_(std::move(socket)) {}

    [[nodiscard]] State state() const { return state_; }
    [[nodiscard]] int fd() const { return socket_.get(); }  // for poll()
    [[nodiscard]] short events() const;
    // A client has so long for its whole request, and again for the whole answer, however little it
    // sends or reads at a time.
    [[nodiscard]] Clock::time_point deadline() const { return deadline_; }
    // The path that it asks for; empty if it is no request that can be answered.
    [[nodiscard]] std::string_view path() const;

    // Reads or sends what there is or what there is room for.
    void go_on();
    // `status`: as "200 OK".
    void answer(std::string_view status, std::string_view type, std::string_view body);

   private:
    static constexpr std::chrono::seconds longest_half{5};

    void read();
    void discard();
    void send();

    FileDescriptor socket_;
    Clock::time_point deadline_ = Clock::now() + longest_half;
    State state_ = State::reads;
    std::string request_;
    std::string answer_;
    std::size_t sent_ = 0;
};

}  // namespace carillon::tool
