// SPDX-License-Identifier: Apache-2.0
#include "serve/running_served.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <carillon/connection.hpp>
#include <carillon/error.hpp>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <string>

#include "kernels/serve_kernels.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

class ServeTest : public testing::Test {
   protected:
    [[nodiscard]] ServeRequest serve_request() const {
        ServeRequest request;
        request.path = (folder_.path() / "served.sock").string();
        request.device = "emulated";
        return request;
    }
    [[nodiscard]] static std::filesystem::path wrong_library(int which) {
        return std::filesystem::path(CARILLON_WRONG_LIBRARIES) /
               ("libcarillon_wrong_" + std::to_string(which) + ".so");
    }

   private:
    test::TemporaryDirectory folder_;
};

TEST_F(ServeTest, clientsCommandWhatIsBuiltIn) {
    ServeRequest request = serve_request();
    request.blocks = 2;
    request.mode = 0640;
    request.name = "counter";
    RunningServed served(*builtin_kernel("count"), request);
    EXPECT_EQ(served.facts().blocks, 2U);
    EXPECT_EQ(served.facts().emulated, 1U);
    EXPECT_NE(std::string(served.facts().device), "");
    struct ::stat socket {};
    ASSERT_EQ(::stat(request.path.c_str(), &socket), 0);
    EXPECT_EQ(socket.st_mode & 0777U, 0640U);
    Connection const client(request.path);
    auto channel = client.channel<kernels::ServedAsk, kernels::ServedCount>("counter");
    EXPECT_EQ(channel.call({4}, 10s).twice, 8U);
    EXPECT_EQ(channel.call({4}, 10s).served, 1U);
    EXPECT_TRUE(served.running());
    served.drain(10'000);
    EXPECT_FALSE(served.running());
    EXPECT_THROW((void)channel.call({4}, 10s), StoppedError);
}

TEST_F(ServeTest, echoIsOfOneLine) {
    ServeRequest const request = serve_request();
    RunningServed const served(*builtin_kernel("echo"), request);
    Connection const client(request.path);
    auto channel = client.channel<kernels::ServedBytes, kernels::ServedBytes>();
    kernels::ServedBytes sent{};
    for (std::uint32_t i = 0; i < 12; ++i) sent.word[i] = i + 1;
    kernels::ServedBytes const got = channel.call(sent, 10s);
    EXPECT_EQ(std::memcmp(&got, &sent, sizeof(sent)), 0);
    EXPECT_EQ(builtin_kernel("none"), nullptr);
}

TEST_F(ServeTest, poolServesMoreClientsThanItHasBlocks) {
    ServeRequest request = serve_request();
    request.clients = 3;
    RunningServed served(*builtin_kernel("count", BuiltinKind::pool), request);
    EXPECT_EQ(served.facts().blocks, 1U);
    EXPECT_EQ(served.facts().clients, 3U);
    Connection const client(request.path);
    auto const open = [&] { return client.channel<kernels::ServedAsk, kernels::ServedCount>(); };
    auto first = open();
    auto second = open();
    auto third = open();
    EXPECT_THROW((void)open(), RefusedError);
    EXPECT_EQ(first.call({4}, 10s).twice, 8U);
    EXPECT_EQ(second.call({5}, 10s).twice, 10U);
    kernels::ServedCount const last = third.call({6}, 10s);
    EXPECT_EQ(last.twice, 12U);
    EXPECT_EQ(last.served, 2U) << "one block has served them all";
    served.drain(10'000);
}

TEST_F(ServeTest, onlyAPoolIsToldHowManyClients) {
    ServeRequest request = serve_request();
    request.clients = 3;
    CARILLON_EXPECT_ERROR(RunningServed(*builtin_kernel("echo"), request), UsageError,
                          "one block per client");
    request.clients = 65;
    CARILLON_EXPECT_ERROR(RunningServed(*builtin_kernel("echo", BuiltinKind::pool), request),
                          UsageError, "clients is 65");
}

TEST_F(ServeTest, userWhoIsNotListedIsLetInWhereTheOwnersIs) {
    ServeRequest request = serve_request();
    request.users = {user_number("--user", "65533")};
    RunningServed const served(*builtin_kernel("echo"), request);
    EXPECT_NO_THROW((void)Connection(request.path).status()) << "the owner's own user";
    EXPECT_EQ(user_number("--user", "root"), 0U);
    EXPECT_EQ(group_number("--group", "root"), 0U);
    CARILLON_EXPECT_ERROR((void)user_number("--user", ""), UsageError,
                          "--user: there is no user \"\"");
    CARILLON_EXPECT_ERROR((void)group_number("--group", "99999999999"), UsageError,
                          "--group: there is no group \"9999");
}

TEST_F(ServeTest, whatCannotBeIsSaidInTheKernelsOwnWords) {
    ServedKernelLibrary const& echo = *builtin_kernel("echo");
    ServeRequest request = serve_request();
    request.capacity = 7;
    CARILLON_EXPECT_ERROR(RunningServed(echo, request), UsageError, "a capacity of 7");
    request = serve_request();
    request.path = "/nowhere/served.sock";
    CARILLON_EXPECT_ERROR(RunningServed(echo, request), Error, "/nowhere/served.sock");
    request = serve_request();
    request.device = "nonsense";
    CARILLON_EXPECT_ERROR(RunningServed(echo, request), UsageError, "nonsense");
    request = serve_request();
    RunningServed const first(echo, request);
    CARILLON_EXPECT_ERROR(RunningServed(echo, request), UsageError, "served.sock");
}

TEST_F(ServeTest, wrongLibraryIsNamedWithTheCauseAndNothingOfItIsCalled) {
    CARILLON_EXPECT_ERROR((void)load_kernel("/nowhere/kernel.so"), UnsupportedError,
                          "serve --library: /nowhere/kernel.so: cannot open");
    CARILLON_EXPECT_ERROR((void)load_kernel("/etc/passwd"), UnsupportedError,
                          "/etc/passwd: invalid ELF header");
    CARILLON_EXPECT_ERROR((void)load_kernel(wrong_library(5)), UnsupportedError,
                          "it has no carillon_served_kernel");
    for (int const which : {0, 1, 2}) {
        SCOPED_TRACE(which);
        CARILLON_EXPECT_ERROR((void)load_kernel(wrong_library(which)), UnsupportedError,
                              "its carillon_served_kernel was not made by CARILLON_SERVED_KERNEL");
    }
    CARILLON_EXPECT_ERROR((void)load_kernel(wrong_library(3)), UnsupportedError,
                          "its kernel is of version 3, ");
    CARILLON_EXPECT_ERROR((void)load_kernel(wrong_library(4)), UnsupportedError,
                          "build the library with this version's headers");
}

// Catches one that dlopen ends the process for: as while it is copied, or from a disk that was
// full.
TEST_F(ServeTest, libraryWhoseEndIsMissingIsNamed) {
    auto const cut_to = [&](std::uintmax_t bytes) {
        auto const cut = std::filesystem::path(serve_request().path).replace_filename("cut.so");
        std::filesystem::copy_file(wrong_library(4), cut,
                                   std::filesystem::copy_options::overwrite_existing);
        std::filesystem::resize_file(cut, bytes);
        return cut;
    };
    for (std::uintmax_t const bytes : {3000U, 1000U, 100U}) {
        CARILLON_EXPECT_ERROR((void)load_kernel(cut_to(bytes)), UnsupportedError,
                              "cut.so: it is cut short");
    }
    CARILLON_EXPECT_ERROR((void)load_kernel(cut_to(40)), UnsupportedError, "file too short");
}

TEST_F(ServeTest, libraryIsARegularFile) {
    auto const pipe = std::filesystem::path(serve_request().path).replace_filename("pipe");
    ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
    CARILLON_EXPECT_ERROR((void)load_kernel(pipe), UnsupportedError, "it is not a regular file");
    CARILLON_EXPECT_ERROR((void)load_kernel(pipe.parent_path()), UnsupportedError,
                          "it is not a regular file");
}

}  // namespace
}  // namespace carillon::tool
