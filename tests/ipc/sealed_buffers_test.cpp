// SPDX-License-Identifier: Apache-2.0
// Buffers that come to clients that wait for them, and the owner of their memory afterwards. P is
// this process, which has the store; C is a client, in this process too.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "carillon/detail/wire/config.hpp"
#include "device/device_fixture.hpp"
#include "ipc/buffers.hpp"
#include "ipc/fixtures.hpp"
#include "support/expect_error.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using SealedBuffersTest = StoreOwnerTest;
CARILLON_ON_EVERY_DEVICE(SealedBuffersTest);

// 1. C and P wait. 2. Both put buffers. 3. Both have them, in the order in which they were sealed.
TEST_P(SealedBuffersTest, comeInOrderWithTheirBytes) {
    Server const server = serve();
    Store const client = connect();
    (void)put(store(), std::byte{99});
    SealedBuffers here = store().sealed_buffers();
    SealedBuffers there = client.sealed_buffers();
    for (SealedBuffers* each : {&here, &there}) EXPECT_FALSE(each->next());
    std::vector<std::uint64_t> const ids{put(client, std::byte{1}), put(store(), std::byte{2}),
                                         put(client, std::byte{3})};
    for (SealedBuffers* each : {&here, &there}) {
        ::pollfd readable{each->descriptor(), POLLIN, 0};
        EXPECT_EQ(::poll(&readable, 1, 30'000), 1);
        for (unsigned i = 0; i < ids.size(); ++i) {
            auto const buffer = each->next(patience);
            ASSERT_TRUE(buffer);
            EXPECT_EQ(buffer->id(), ids[i]);
            EXPECT_EQ(buffer->size(), some_bytes);
            EXPECT_NE(buffer->device_ptr(), nullptr);
            EXPECT_EQ(last_byte(*buffer), static_cast<std::byte>(i + 1));
        }
        EXPECT_FALSE(each->next());
        EXPECT_EQ(each->missed(), 0U);
    }
}

// 1. C may hold two. 2. P puts five. 3. C gets them all, as it releases earlier ones.
TEST_P(SealedBuffersTest, waitForWhoHoldsAsManyAsItMay) {
    Server const server = serve({.buffers_per_connection = 2});
    SealedBuffers there = connect().sealed_buffers();
    for (unsigned i = 0; i < 5; ++i) (void)put(store(), static_cast<std::byte>(i));
    auto first = there.next(patience);
    auto second = there.next(patience);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(there.next());
    second.reset();
    for (unsigned i = 2; i < 5; ++i) {
        auto const next = there.next(patience);
        ASSERT_TRUE(next);
        EXPECT_EQ(last_byte(*next), static_cast<std::byte>(i));
    }
    EXPECT_EQ(last_byte(*first), std::byte{0});
    EXPECT_EQ(there.missed(), 0U);
}

// 1. C holds as many as it may. 2. Buffers that P puts and removes then are counted, and one that
// it keeps comes.
TEST_P(SealedBuffersTest, thatAreRemovedBeforeAreCounted) {
    Server const server = serve({.buffers_per_connection = 1});
    SealedBuffers there = connect().sealed_buffers();
    SealedBuffers here = store().sealed_buffers();
    (void)put(store(), std::byte{1});
    auto held = there.next(patience);
    ASSERT_TRUE(held);
    for (unsigned i = 0; i < 3; ++i) store().remove(put(store(), std::byte{2}));
    (void)put(store(), std::byte{3});
    held.reset();
    auto const next = there.next(patience);
    ASSERT_TRUE(next);
    EXPECT_EQ(last_byte(*next), std::byte{3});
    EXPECT_EQ(there.missed(), 3U);
    ASSERT_TRUE(here.next());
    EXPECT_EQ(last_byte(here.next().value()), std::byte{3});
    EXPECT_EQ(here.missed(), 3U);
}

// 1. P seals buffers, and has no address space for them. 2. next() says so of each, which is
// counted.
// 3. With address space again the others come.
TEST(OwnSealedBuffersTest, thatCannotBeMappedAreCounted) {
#if CARILLON_THREAD_SANITIZER || CARILLON_ADDRESS_SANITIZER
    GTEST_SKIP() << "a sanitizer needs memory of its own";
#endif
    constexpr std::size_t large = std::size_t{32} << 20;
    Store const store(Device::open("emulated"), {.bytes = 4 * large});
    SealedBuffers here = store.sealed_buffers();
    for (unsigned i = 0; i < 3; ++i) (void)store.create("", large).seal();
    std::size_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    ::rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_AS, &before), 0);
    ::rlimit const tight{pages * 4096 + large / 2, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &tight), 0);
    for (unsigned i = 0; i < 2; ++i) EXPECT_THROW((void)here.next(), Error);
    ASSERT_EQ(::setrlimit(RLIMIT_AS, &before), 0);
    EXPECT_EQ(here.missed(), 2U);
    EXPECT_TRUE(here.next());
    EXPECT_EQ(here.missed(), 2U);
}

// 1. C holds as many as it may. 2. P puts others, removes them, and puts no more. 3. C hears of
// each.
TEST_P(SealedBuffersTest, thatAreRemovedAreCountedThoughNoOtherComes) {
    Server const server = serve({.buffers_per_connection = 1});
    SealedBuffers there = connect().sealed_buffers();
    (void)put(store(), std::byte{1});
    auto held = there.next(patience);
    ASSERT_TRUE(held);
    for (unsigned i = 0; i < 3; ++i) store().remove(put(store(), std::byte{2}));
    held.reset();
    EXPECT_TRUE(eventually([&] { return !there.next() && there.missed() != 0; }));
    EXPECT_EQ(there.missed(), 3U);
    (void)put(store(), std::byte{3});
    auto const next = there.next(patience);
    ASSERT_TRUE(next);
    EXPECT_EQ(last_byte(*next), std::byte{3});
    EXPECT_EQ(there.missed(), 3U);
}

// 1. C waits no more, but has one buffer. 2. Nobody holds the buffers that did not come, or are put
// later.
TEST_P(SealedBuffersTest, areNotHeldForWhoWaitsNoMore) {
    Server const server = serve();
    std::optional<SealedBuffers> there = connect().sealed_buffers();
    for (unsigned i = 0; i < 3; ++i) (void)put(store(), std::byte{1});
    std::optional<Buffer> held = there->next(patience);
    ASSERT_TRUE(held);
    there.reset();
    (void)put(store(), std::byte{2});
    auto const holds = [&](unsigned count) {
        auto const clients = server.clients();
        return clients.size() == 1 && clients.front().buffers == count;
    };
    EXPECT_TRUE(eventually([&] { return holds(1); }));
    EXPECT_EQ(last_byte(*held), std::byte{1});
    held.reset();
    EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
}

TEST_P(SealedBuffersTest, areLetGoByOtherThreadsWhileOneWaits) {
    Server const server = serve();
    SealedBuffers there = connect().sealed_buffers();
    (void)put(store(), std::byte{1});
    auto held = there.next(patience);
    ASSERT_TRUE(held);
    std::jthread const waits([&] {
        auto const next = there.next(patience);
        EXPECT_TRUE(next);
    });
    held.reset();  // would wait for the other thread, and it for what is put only then
    (void)put(store(), std::byte{2});
}

TEST_P(SealedBuffersTest, endWithTheStoreAndAreNotAChilds) {
    Server const server = serve();
    Store const client = connect();
    SealedBuffers here = store().sealed_buffers();
    SealedBuffers there = client.sealed_buffers();
    (void)put(store(), std::byte{7});
    auto const held = there.next(patience);
    ASSERT_TRUE(held);
    EXPECT_EQ(in_child([&] {
                  return is_fork_error([&] { return there.next(); }) &&
                                 is_fork_error([&] { return here.descriptor(); })
                             ? 0
                             : 1;
              }),
              0);
    EXPECT_TRUE(here.next(patience));
    end_store();
    CARILLON_EXPECT_ERROR((void)there.next(patience), OwnerGoneError, "SealedBuffers::next");
    CARILLON_EXPECT_ERROR((void)here.next(patience), OwnerGoneError, "destroyed");
    EXPECT_EQ(last_byte(*held), std::byte{7});
    SealedBuffers const moved = std::move(there);
    // NOLINTNEXTLINE(bugprone-use-after-move)
    CARILLON_EXPECT_ERROR((void)there.missed(), UsageError, "SealedBuffers::missed");
}

// Host memory is never another buffer's, and a new buffer's memory is all 0.
// 1. C writes a buffer, seals it and removes it. 2. Another client gets other memory for its own.
// 3. C gets its former memory again. 4. When C has gone others may have that memory.
TEST_P(SealedBuffersTest, memoryIsItsMakersAsLongAsThatHasItMapped) {
    if (device().info().memory_source != MemorySource::vulkan) {
        GTEST_SKIP() << "no memory of this device is ever another buffer's";
    }
    Server const server = serve();
    std::optional<Store> maker = connect();
    Store const other = connect();
    auto const left_there = [](Store const& store) {
        Buffer made = store.create("", some_bytes);
        return std::to_integer<int>(HostMirror(made).data().back());
    };
    maker->remove(put(*maker, std::byte{5}));
    EXPECT_EQ(left_there(other), 0);
    EXPECT_EQ(left_there(*maker), 5);
    maker.reset();
    ASSERT_TRUE(eventually([&] { return server.clients().size() == 1; }));
    Buffer const first = other.create("", some_bytes);
    EXPECT_EQ(left_there(other), 5);
}

bool is_writable(void const* where) {
    auto const at = reinterpret_cast<std::uintptr_t>(where);
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        std::istringstream words(line);
        std::uintptr_t begin = 0;
        std::uintptr_t end = 0;
        char to = 0;
        std::string access;
        words >> std::hex >> begin >> to >> end >> access;
        if (at >= begin && at < end) return access.at(1) == 'w';
    }
    ADD_FAILURE() << "nothing is mapped there";
    return false;
}

TEST_P(SealedBuffersTest, pagesAreReadOnlyFromSealToTheirNextBuffer) {
    if (device().info().memory_source != MemorySource::vulkan) {
        GTEST_SKIP() << "the system seals this device's memory itself";
    }
    Server const server = serve();
    Store const client = connect();
    for (unsigned i = 0; i < 3; ++i) {
        std::optional<Buffer> made = client.create("", some_bytes);
        void const* const where = made->mutable_data().data();
        EXPECT_TRUE(is_writable(where));
        std::uint64_t const id = made->seal().id();
        EXPECT_EQ(made->data().data(), where);
        EXPECT_FALSE(is_writable(where));
        made.reset();
        EXPECT_FALSE(is_writable(where));
        std::optional<Buffer> read = i == 0 ? std::optional(store().get(id)) : std::nullopt;
        client.remove(id);
        EXPECT_EQ(is_writable(where), !read) << "somebody reads it";
    }
}

}  // namespace
}  // namespace carillon::test
