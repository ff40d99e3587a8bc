// SPDX-License-Identifier: Apache-2.0
#include "metrics/http_visit.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

namespace carillon::tool {
namespace {

// P: the visit, of one end of a connection; C: the client's end.
class HttpVisitTest : public testing::Test {
   protected:
    HttpVisitTest() {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        client_ = FileDescriptor(ends[0]);
        visit_.emplace(FileDescriptor(ends[1]));
    }

    HttpVisit& visit() { return *visit_; }
    void hear(std::string const& bytes) {
        EXPECT_EQ(::write(client_.get(), bytes.data(), bytes.size()),
                  static_cast<ssize_t>(bytes.size()));
        visit_->go_on();
    }
    [[nodiscard]] std::string answered() const {
        std::array<char, 1024> bytes{};
        ssize_t const got = ::read(client_.get(), bytes.data(), bytes.size());
        return {bytes.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
    }
    void leave() { client_ = FileDescriptor(); }

   private:
    FileDescriptor client_;
    std::optional<HttpVisit> visit_;
};

using State = HttpVisit::State;

TEST_F(HttpVisitTest, requestIsWholeWhenItsHeadHasEnded) {
    hear("GET /metrics?a=b HTTP/1.1\r\nHost: here\r");
    EXPECT_EQ(visit().state(), State::reads);
    hear("\n\r\n");
    EXPECT_EQ(visit().state(), State::asks);
    EXPECT_EQ(visit().path(), "/metrics");
    visit().answer("200 OK", "text/plain", "text");
    EXPECT_EQ(answered(),
              "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 4\r\n"
              "Connection: close\r\n\r\ntext");
    EXPECT_EQ(visit().state(), State::leaves);
    leave();
    visit().go_on();
    EXPECT_EQ(visit().state(), State::over);
}

// Catches a client that sends a byte each few seconds and stays for ever.
TEST_F(HttpVisitTest, byteByByteNobodyGetsMoreTime) {
    auto const deadline = visit().deadline();
    for (char const each : std::string("GET /metrics HTTP/1.1\r\nX: ")) {
        hear(std::string(1, each));
        EXPECT_EQ(visit().deadline(), deadline);
    }
}

TEST_F(HttpVisitTest, headOfARequestHasABound) {
    std::string const long_line(4000, 'x');
    for (int i = 0; i < 4 && visit().state() == State::reads; ++i) hear(long_line);
    EXPECT_TRUE(answered().starts_with("HTTP/1.1 431 "));
}

TEST_F(HttpVisitTest, headIsAnsweredWithoutABody) {
    hear("HEAD /metrics HTTP/1.0\r\n\r\n");
    visit().answer("200 OK", "text/plain", "text");
    EXPECT_TRUE(answered().ends_with("\r\nConnection: close\r\n\r\n"));
}

TEST_F(HttpVisitTest, whatIsNoRequestHasNoPath) {
    hear("POST /metrics HTTP/1.1\r\n\r\n");
    EXPECT_EQ(visit().path(), "");
    for (char const* line :
         {"GET\r\n\r\n", "\r\n\r\n", "GET /metrics\r\n\r\n", "GET / HTTP/2\r\n\r\n"}) {
        std::array<int, 2> ends{};
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()), 0);
        FileDescriptor const client(ends[0]);
        HttpVisit other{FileDescriptor(ends[1])};
        EXPECT_GT(::write(client.get(), line, std::string(line).size()), 0);
        other.go_on();
        EXPECT_EQ(other.path(), "") << line;
    }
}

TEST_F(HttpVisitTest, answerThatNobodyReadsWaitsForRoom) {
    hear("GET /metrics HTTP/1.1\r\n\r\n");
    visit().answer("200 OK", "text/plain", std::string(std::size_t{1} << 24U, 'x'));
    EXPECT_EQ(visit().state(), State::answers);
    leave();
    visit().go_on();
    EXPECT_EQ(visit().state(), State::over);
}

}  // namespace
}  // namespace carillon::tool
