// SPDX-License-Identifier: Apache-2.0
// Stores that are not what a client takes them for: their memory, or their lists, differ from what
// they announce (false_owner_test.cpp has the faults that all owners may have). P is the store, in
// this process, of which there is no more than its socket; C is a client, here too.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/askers.hpp"
#include "ipc/false_owner.hpp"
#include "ipc/fixtures.hpp"
#include "os/shared_memory.hpp"
#include "serving/client_messages.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t memory_bytes = BufferAsker::memory_bytes;

class FalseStoreTest : public AtPath<testing::Test, Store> {
   protected:
    using Answers = std::function<void(detail::UnixSocket const&, detail::Decoded const&)>;

    [[nodiscard]] FalseOwner store(Answers answer) const {
        return FalseOwner(path(), answering(std::move(answer)));
    }
    // Lends this buffer, with these descriptors, for every request.
    [[nodiscard]] FalseOwner lends(detail::LentBuffer const& lent,
                                   std::vector<int> descriptors) const {
        return store([lent, descriptors = std::move(descriptors)](auto& client, auto& asked) {
            tell(client, asked.id, lent, descriptors);
        });
    }
};

// Each answer of a long list may take its own timeout, and the list ten times as long.
TEST_F(FalseStoreTest, listMayTakeLongerThanAnAnswer) {
    constexpr std::uint64_t buffers = 3;
    auto const owner = store([](auto& client, auto& asked) {
        std::this_thread::sleep_for(400ms);
        BufferInfo listed;
        std::uint64_t const next = std::get<detail::NextBuffer>(asked.message).buffer + 1;
        if (next <= buffers) listed = {next, "", 1, 1, true, true, 0, 1, 1};
        tell(client, asked.id, listed);
    });
    EXPECT_EQ(connect({.timeout = 1200ms}).list().size(), buffers);
}

TEST_F(FalseStoreTest, sealedBufferThatOthersMayWrite) {
    FileDescriptor const memory = detail::new_sealable_memory(memory_bytes);
    FalseOwner const owner = lends(BufferAsker::lent(true), {memory.get()});
    Store const client = connect();
    CARILLON_EXPECT_ERROR((void)client.get("a"), ProtocolError,
                          "memory that other processes can write");
    ASSERT_TRUE(detail::seal_against_writing(memory));
    EXPECT_EQ(client.get("a").size(), 100U);
    CARILLON_EXPECT_ERROR((void)client.create("a", 100), ProtocolError,
                          "the store lent a new buffer sealed");
}

// C asks to be shown it.
TEST_F(FalseStoreTest, memoryThatIsNeverShown) {
    detail::LentBuffer lent = BufferAsker::lent(true);
    lent.descriptor = false;
    FileDescriptor const memory = detail::new_sealable_memory(memory_bytes);
    auto const with = [&](detail::Message const& shown, std::vector<int> const& descriptors) {
        return store([=](auto& client, auto& asked) {
            bool const show = std::holds_alternative<detail::ShowMemory>(asked.message);
            tell(client, asked.id, show ? shown : lent, show ? descriptors : std::vector<int>());
        });
    };
    {
        FalseOwner const owner = with(detail::Refused{RefusalReason::other, "no"}, {});
        CARILLON_EXPECT_ERROR((void)connect().get("a"), RefusedError, "no");
    }
    {
        FalseOwner const owner = with(detail::BufferDone{}, {});
        CARILLON_EXPECT_ERROR((void)connect().get("a"), ProtocolError, "does not fit the question");
    }
    FalseOwner const owner = with(detail::ShownMemory{8}, {memory.get()});
    CARILLON_EXPECT_ERROR((void)connect().get("a"), ProtocolError, "the memory of another buffer");
}

// Each FalseOwner serves one connection: C has one more, to another with the same number.
class FalseNewsTest : public FalseStoreTest {
   protected:
    [[nodiscard]] SealedBuffers sealed_buffers(std::chrono::nanoseconds timeout, Answers answer) {
        Store const client = connect({.timeout = timeout});
        std::filesystem::rename(path(), path() + ".first");
        std::filesystem::remove(path() + ".lock");
        second_.emplace(path(), answering(std::move(answer)));
        return client.sealed_buffers();
    }

   private:
    FalseOwner first_ = store([](auto& /*client*/, auto& /*asked*/) {});
    std::optional<FalseOwner> second_;
};

// 1. P says that C has missed some, before it answers and afterwards. 2. It lends one.
TEST_F(FalseNewsTest, missedBuffersAreCounted) {
    FileDescriptor const memory = detail::new_sealable_memory(memory_bytes);
    ASSERT_TRUE(detail::seal_against_writing(memory));
    SealedBuffers there = sealed_buffers(patience, [&](auto& client, auto& asked) {
        tell(client, 0, detail::MissedBuffers{2});
        tell(client, asked.id, detail::BufferDone{});
        tell(client, 0, detail::MissedBuffers{3});
        tell(client, 0, BufferAsker::lent(true), {memory.get()});
    });
    EXPECT_TRUE(there.next(patience));
    EXPECT_EQ(there.missed(), 5U);
}

TEST_F(FalseNewsTest, missedBuffersWithoutAnEndKeepNobody) {
    SealedBuffers there = sealed_buffers(1s, [](auto& client, auto& asked) {
        tell(client, asked.id, detail::BufferDone{});
        auto const missed = detail::encode(0, detail::MissedBuffers{1});
        while (!client.is_closed()) {
            try {
                (void)client.send(missed);
            } catch (SystemError const&) {  // C has not read the others
            }
        }
    });
    EXPECT_TRUE(eventually([&] { return !there.next() && there.missed() != 0; }));
}

TEST_F(FalseStoreTest, listThatGoesBack) {
    FalseOwner const owner = store([](auto& client, auto& asked) {
        BufferInfo listed;
        listed.id = 3;
        listed.size = 1;
        tell(client, asked.id, listed);
    });
    CARILLON_EXPECT_ERROR((void)connect().list(), ProtocolError, "not in order");
}

}  // namespace
}  // namespace carillon::test
