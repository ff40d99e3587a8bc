// SPDX-License-Identifier: Apache-2.0
// Owners and clients of other versions. Former ones had a protocol for kernels ("CRLN") and another
// for stores ("CRST"). Each end says that the other has another version, and neither waits for
// ever. P is an owner, C a client. Former versions sent the bytes that stand here; those of the
// next version are today's with its number.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/false_owner.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using Octets = std::vector<std::byte>;

constexpr std::uint16_t kind_of_hello = 1;

struct Version {
    char const* name;
    char const* magic;
    std::uint16_t version;
    std::uint16_t kind_of_refused;
};
constexpr std::array versions{Version{"KernelVersion4", "CRLN", 4, 6},
                              Version{"TheOneBefore", "CRLN", detail::messages_version - 1, 3},
                              Version{"TheNextOne", "CRLN", detail::messages_version + 1, 3},
                              Version{"StoreVersion3", "CRST", 3, 15},
                              Version{"StoreVersion5", "CRST", 5, 15}};

Octets message(Version const& version, std::uint16_t kind, std::uint32_t id, std::size_t size) {
    Octets bytes(16 + size);
    auto const total = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data(), version.magic, 4);
    std::memcpy(bytes.data() + 4, &version.version, sizeof(version.version));
    std::memcpy(bytes.data() + 6, &kind, sizeof(kind));
    std::memcpy(bytes.data() + 8, &total, sizeof(total));
    std::memcpy(bytes.data() + 12, &id, sizeof(id));
    return bytes;
}

Octets hello_of(Version const& version) {
    Octets bytes = message(version, kind_of_hello, 1, 64);
    bytes[16] = std::byte{'c'};
    return bytes;
}

// The answer of an owner of that version to a header that it does not know.
Octets refused_by(Version const& version) {
    Octets bytes = message(version, version.kind_of_refused, 0, 1 + 256);
    std::memcpy(bytes.data() + 17, "another version", 15);
    return bytes;
}

using OtherVersionsTest = AtPath<testing::TestWithParam<Version>>;

// 1. C says hello, whole or a byte short. 2. P refuses it in a header in which C finds its own
// magic number and another version, and closes the connection. P's log says why.
TEST_P(OtherVersionsTest, clientHearsOfAnotherVersion) {
    LoggedLines lines;
    Server const server(path(), {.log = lines.log()});
    Octets const hello = hello_of(GetParam());
    for (std::size_t const missing : {0U, 1U}) {
        detail::UnixSocket const client = stranger_at(path());
        ASSERT_TRUE(client.send(std::span(hello).first(hello.size() - missing)));
        Octets answer;
        EXPECT_TRUE(eventually([&] {
            auto const received = client.receive(0);
            auto const* came = std::get_if<detail::SocketMessage>(&received);
            if (came != nullptr) answer = came->bytes;
            return std::holds_alternative<detail::PeerClosed>(received);
        }));
        ASSERT_GE(answer.size(), 6U);
        EXPECT_EQ(std::memcmp(answer.data(), GetParam().magic, 4), 0);
        std::uint16_t version = 0;
        std::memcpy(&version, answer.data() + 4, sizeof(version));
        EXPECT_EQ(version, detail::messages_version);
        if (GetParam().magic != std::string_view("CRLN")) continue;
        auto const said = detail::decode(answer, 0);
        auto const* const refused = std::get_if<detail::Refused>(&said.message);
        ASSERT_NE(refused, nullptr);
        EXPECT_EQ(refused->reason, RefusalReason::version);
    }
    EXPECT_TRUE(lines.come("refused (version): the other process has version " +
                           std::to_string(GetParam().version)));
}

// 1. C says hello. 2. P, of the other version, refuses it. Catches a client that waits for a
// welcome until its timeout.
TEST_P(OtherVersionsTest, ownerIsOfAnotherVersion) {
    FalseOwner const owner(path(), [](detail::UnixSocket const& client) {
        EXPECT_TRUE(eventually([&] {
            auto const received = client.receive(0);
            return std::holds_alternative<detail::SocketMessage>(received);
        }));
        EXPECT_TRUE(client.send(refused_by(GetParam())));
    });
    std::string const version =
        "the other process has version " + std::to_string(GetParam().version);
    CARILLON_EXPECT_ERROR(connect(), RefusedError, "Connection: refused (version): " + version);
    CARILLON_EXPECT_ERROR(connect<Store>(), RefusedError, "Store: refused (version): " + version);
}

INSTANTIATE_TEST_SUITE_P(Of, OtherVersionsTest, testing::ValuesIn(versions),
                         [](auto const& each) { return each.param.name; });

}  // namespace
}  // namespace carillon::test
