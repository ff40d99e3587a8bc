// SPDX-License-Identifier: Apache-2.0
// Buffers of a store between processes. P is this process, which has the store; C is a client, in
// another process or in this one.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "carillon/carillon.hpp"
#include "ipc/buffers.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

namespace messages = detail;

std::vector<std::byte> pattern(std::size_t size, unsigned seed) {
    std::vector<std::byte> bytes(size);
    for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + seed);
    return bytes;
}

std::vector<std::byte> bytes_of(Buffer const& buffer) {
    std::vector<std::byte> bytes(buffer.size());
    buffer.read(bytes);
    return bytes;
}

using StoreOnDeviceTest = StoreOwnerTest;
CARILLON_ON_EVERY_DEVICE(StoreOnDeviceTest);

// 1. C makes a buffer, writes it and seals it. 2. P gets it. 3. C ends. 4. P has it still.
TEST_P(StoreOnDeviceTest, whatAClientSealsOutlivesIt) {
    Server const server = serve();
    Process client({"store-put", path(), "prices", "100000", "3"});
    ASSERT_EQ(client.line(), "written");
    EXPECT_EQ(refusal_of([&] { return store().get("prices"); }), RefusalReason::not_sealed);
    client.tell("seal");
    ASSERT_EQ(client.line(), "sealed");
    Buffer const before = store().get("prices");
    client.tell("end");
    EXPECT_EQ(client.status(), 0);
    Buffer const after = store().get("prices");
    EXPECT_EQ(bytes_of(before), pattern(100000, 3));
    EXPECT_EQ(bytes_of(after), pattern(100000, 3));
    EXPECT_EQ(before.id(), after.id());
    EXPECT_EQ(before.name(), "prices");
    EXPECT_EQ(before.is_cpu(), device().emulated());
}

// 1. P makes a buffer and seals it. 2. C gets it by its number.
TEST_P(StoreOnDeviceTest, clientGetsWhatTheOwnerMade) {
    Server const server = serve();
    Buffer made = store().create("", 70000);
    made.write(pattern(70000, 9));
    Buffer const sealed = made.seal();
    Process client({"store-get", path(), std::to_string(sealed.id()), "9"});
    EXPECT_EQ(client.line(), "70000 bytes, right");
    EXPECT_EQ(client.status(), 0);
}

// 1. C dies before it has sealed a buffer. 2. Its name is free, its memory another's.
TEST_P(StoreOnDeviceTest, whatIsNotSealedGoesWithItsMaker) {
    Server const server = serve();
    Process client({"store-put", path(), "prices", "100000", "3"});
    ASSERT_EQ(client.line(), "written");
    EXPECT_EQ(refusal_of([&] { return store().create("prices", 1); }), RefusalReason::name_taken);
    EXPECT_TRUE(client.kill());
    ASSERT_TRUE(eventually([&] { return store().list().empty(); }));
    EXPECT_NO_THROW((void)store().create("prices", 1));
}

TEST_P(StoreOnDeviceTest, bothEndsInOneProcessAndPointersOfTheDevice) {
    Server const server = serve();
    Store const connection = connect();
    for (unsigned i = 0; i < 5; ++i) {
        Buffer made = connection.create("same", 4096 + i);
        EXPECT_NE(made.device_ptr(), nullptr);
        EXPECT_TRUE(made.is_mutable());
        EXPECT_EQ(made.mutable_data().size(), 4096 + i);
        made.write(pattern(4096, i));
        made.write(pattern(i, 100), 4096);
        Buffer const sealed = made.seal();
        EXPECT_FALSE(sealed.is_mutable());
        EXPECT_NE(sealed.device_ptr(), nullptr);
        Buffer const got = store().get("same");
        std::vector<std::byte> bytes(4096);
        got.read(bytes);
        EXPECT_EQ(bytes, pattern(4096, i));
        bytes.resize(i);
        got.read(bytes, 4096);
        EXPECT_EQ(bytes, pattern(i, 100));
        connection.remove("same");
        // The buffer is held, so its memory is not the next one's.
        EXPECT_EQ(got.data().size(), 4096 + i);
    }
    EXPECT_TRUE(store().list().empty());
}

TEST_P(StoreOnDeviceTest, twoHundredBuffersLeaveNothing) {
    Server const server = serve();
    Store const maker = connect();
    Store const reader = connect();
    auto const cycle = [&](unsigned i) {
        Buffer made = maker.create("cycle", 200'000 + 10'000 * (i % 3));
        made.write(pattern(1000, i), 100'000);
        std::uint64_t const id = made.seal().id();
        std::vector<std::byte> bytes(1000);
        reader.get(id).read(bytes, 100'000);
        EXPECT_EQ(bytes, pattern(1000, i));
        reader.remove(id);
    };
    for (unsigned i = 0; i < 20; ++i) cycle(i);
    auto const settled = [&] {
        return eventually([&] {
            return std::ranges::all_of(
                server.clients(), [](ConnectedClient const& each) { return each.buffers == 0; });
        });
    };
    ASSERT_TRUE(settled());
    Held const before = Held::now();
    for (unsigned i = 0; i < 200; ++i) cycle(i);
    ASSERT_TRUE(settled());
    EXPECT_EQ(Held::now(), before);
}

class StoreTest : public WithDevice<testing::Test, Store> {
   protected:
    [[nodiscard]] static StoreOptions options() {
        return {.bytes = std::size_t{1} << 20, .buffers = 8};
    }
    [[nodiscard]] Store& store() { return *store_; }
    [[nodiscard]] Server serve() { return store().serve(path(), quiet()); }
    void end_store() { store_.reset(); }
    [[nodiscard]] Buffer sealed(std::string const& name, std::size_t size = 100) {
        return store().create(name, size).seal();
    }

   private:
    std::optional<Store> store_{std::in_place, device(), options()};
};

TEST_F(StoreTest, namesAreFreeOnceTheirBufferIsRemovedAndItsBytesStay) {
    Server const server = serve();
    Store const client = connect();
    Buffer first = client.create("a", 100);
    first.write(pattern(100, 1));
    Buffer const held = first.seal();
    EXPECT_EQ(refusal_of([&] { return client.create("a", 1); }), RefusalReason::name_taken);
    client.remove("a");
    EXPECT_EQ(refusal_of([&] { return client.get("a"); }), RefusalReason::unknown_object);
    EXPECT_EQ(refusal_of([&] { return client.get(held.id()); }), RefusalReason::unknown_object);
    EXPECT_EQ(refusal_of([&] {
                  client.remove("a");
                  return 0;
              }),
              RefusalReason::unknown_object);
    Buffer second = client.create("a", 100);
    second.write(pattern(100, 2));
    (void)second.seal();
    EXPECT_EQ(bytes_of(held), pattern(100, 1));
    EXPECT_EQ(bytes_of(client.get("a")), pattern(100, 2));
}

TEST_F(StoreTest, listTellsOfEachBuffer) {
    Server const server = serve();
    Store const client = connect();
    Buffer const first = sealed("first", 200'000);
    Buffer const second = client.create("", 5);
    Buffer const again = client.get("first");
    auto const all = client.list();
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].id, first.id());
    EXPECT_EQ(all[0].name, "first");
    EXPECT_EQ(all[0].size, 200'000U);
    EXPECT_GE(all[0].memory, 200'000U);
    EXPECT_TRUE(all[0].sealed);
    EXPECT_EQ(all[0].holders, 2U);
    EXPECT_EQ(all[0].process, ::getpid());
    EXPECT_EQ(all[1].id, second.id());
    EXPECT_FALSE(all[1].sealed);
    EXPECT_EQ(all[1].user, ::geteuid());
    EXPECT_EQ(store().list().size(), 2U);
}

// The system sees to it: no mapping can be written, and none can be made that could.
TEST_F(StoreTest, nobodyWritesASealedBuffer) {
    Server const server = serve();
    Store const client = connect();
    Buffer made = client.create("a", 100);
    auto const before = made.mutable_data();
    EXPECT_TRUE(made.is_mutable());
    made.write(pattern(100, 1));
    Buffer const buffer = made.seal();
    CARILLON_EXPECT_ERROR(made.write(pattern(1, 1)), UsageError, "sealed");
    CARILLON_EXPECT_ERROR((void)made.mutable_data(), UsageError, "sealed");
    CARILLON_EXPECT_ERROR((void)made.mutable_device_ptr(), UsageError, "sealed");
    EXPECT_FALSE(made.is_mutable());
    CARILLON_EXPECT_ERROR((void)made.seal(), UsageError, "sealed");
    Buffer const got = client.get("a");
    for (Buffer const& each : {buffer, got}) {
        auto* const page = const_cast<std::byte*>(each.data().data());
        EXPECT_NE(::mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
    }
    (void)before;
}

// 1. C maps a buffer's memory once more. 2. It cannot seal the buffer. 3. It unmaps that, and can.
TEST_F(StoreTest, whatAProcessCanStillWriteIsNotSealed) {
    Server const server = serve();
    detail::UnixSocket const stranger = stranger_at(path());
    std::uint32_t id = 0;
    auto const ask = [&](messages::Message const& message) {
        EXPECT_TRUE(stranger.send(messages::encode(++id, message)));
        detail::SocketMessage answer;
        EXPECT_TRUE(eventually([&] {
            auto received = stranger.receive(1);
            auto* const came = std::get_if<detail::SocketMessage>(&received);
            if (came != nullptr) answer = std::move(*came);
            return came != nullptr;
        }));
        return answer;
    };
    auto const message_of = [](detail::SocketMessage const& answer) {
        return messages::decode(answer.bytes, answer.descriptors.size()).message;
    };
    (void)ask(messages::Hello{"stranger"});
    auto const lent_answer = ask(messages::CreateBuffer{"a", 100, false});
    auto const lent = std::get<messages::LentBuffer>(message_of(lent_answer));
    ASSERT_EQ(lent_answer.descriptors.size(), 1U);
    void* const mapped = ::mmap(nullptr, lent.memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                                lent_answer.descriptors[0].get(), 0);
    ASSERT_NE(mapped, MAP_FAILED);
    auto const refused = message_of(ask(messages::SealBuffer{lent.info.id}));
    ASSERT_TRUE(std::holds_alternative<messages::Refused>(refused));
    EXPECT_EQ(std::get<messages::Refused>(refused).reason, RefusalReason::other);
    ASSERT_EQ(::munmap(mapped, lent.memory.bytes), 0);
    EXPECT_TRUE(std::holds_alternative<messages::BufferDone>(
        message_of(ask(messages::SealBuffer{lent.info.id}))));
    EXPECT_EQ(::mmap(nullptr, lent.memory.bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                     lent_answer.descriptors[0].get(), 0),
              MAP_FAILED);
    EXPECT_EQ(store().get("a").size(), 100U);
}

TEST_F(StoreTest, fullStoreSaysSoAndHasRoomAgain) {
    Server const server = serve();
    Store const client = connect();
    {
        Buffer const large = client.create("", 700'000);
        EXPECT_EQ(refusal_of([&] { return client.create("", 700'000); }), RefusalReason::full);
        EXPECT_EQ(refusal_of([&] { return store().create("", 700'000); }), RefusalReason::full);
        EXPECT_EQ(refusal_of([&] { return client.create("", std::size_t{1} << 39); }),
                  RefusalReason::full);
    }
    std::vector<Buffer> many;
    for (unsigned i = 0; i < options().buffers; ++i) many.push_back(client.create("", 1));
    EXPECT_EQ(refusal_of([&] { return client.create("", 1); }), RefusalReason::full);
    many.pop_back();
    EXPECT_NO_THROW((void)client.create("", 1));
}

TEST_F(StoreTest, usersAndConnectionsHaveLimits) {
    Store const small(device(), {.bytes_per_user = std::size_t{1} << 17});
    Server const server =
        small.serve(path(), quiet({.connections = 1, .buffers_per_connection = 1}));
    Store const client = connect();
    CARILLON_EXPECT_ERROR(connect(), RefusedError, "there are already 1 connections");
    EXPECT_EQ(refusal_of([&] { return client.create("", 1 << 18); }), RefusalReason::full);
    Buffer const one = client.create("", 1);
    EXPECT_EQ(refusal_of([&] { return client.create("", 1); }), RefusalReason::too_many_of_client);
}

TEST_F(StoreTest, badInput) {
    Server const server = serve();
    Store const client = connect();
    CARILLON_EXPECT_ERROR((void)client.create("", 0), UsageError, "0 bytes");
    CARILLON_EXPECT_ERROR((void)client.create(std::string(64, 'x'), 1), UsageError,
                          "64 characters");
    CARILLON_EXPECT_ERROR((void)client.create("a\nb", 1), UsageError, "control character");
    CARILLON_EXPECT_ERROR((void)client.get(""), UsageError, "1 to 63");
    CARILLON_EXPECT_ERROR((void)client.get(0), UsageError, "number 0");
    for (std::size_t const bytes : {(std::size_t{1} << 40) + 1, SIZE_MAX}) {
        CARILLON_EXPECT_ERROR((void)store().create("", bytes), OutOfMemoryError, "Store::create: ");
        CARILLON_EXPECT_ERROR((void)client.create("", bytes), OutOfMemoryError, "Store::create: ");
    }
    CARILLON_EXPECT_ERROR((void)serve(), UsageError, "taken");
    CARILLON_EXPECT_ERROR(Store(device(), {.bytes = 0}), UsageError, "at least 1");
    CARILLON_EXPECT_ERROR(Store("/nowhere/store.sock"), SystemError, "no such socket");
    CARILLON_EXPECT_ERROR((void)client.serve(path() + "2"), UsageError,
                          "Store::serve: the store belongs to another process");
    CARILLON_EXPECT_ERROR((void)client.sealed_doorbell(), UsageError, "another process");
    CARILLON_EXPECT_ERROR((void)store().owner(), UsageError,
                          "Store::owner: the store belongs to this process");
    Buffer buffer = client.create("a", 10);
    CARILLON_EXPECT_ERROR(buffer.write(pattern(11, 0)), UsageError, "");
    CARILLON_EXPECT_ERROR(buffer.write(pattern(1, 0), 10), UsageError, "");
    std::span<std::byte> const null(static_cast<std::byte*>(nullptr), 8);
    CARILLON_EXPECT_ERROR(buffer.write(null), UsageError,
                          "write: 8 bytes requested at a null pointer");
    Buffer const sealed = buffer.seal();
    std::vector<std::byte> bytes(11);
    CARILLON_EXPECT_ERROR(sealed.read(bytes), UsageError, "");
    CARILLON_EXPECT_ERROR(sealed.read(null), UsageError,
                          "read: 8 bytes requested at a null pointer");
    Buffer moved = client.create("", 1);
    Buffer const taken = std::move(moved);
    CARILLON_EXPECT_ERROR((void)moved.id(), UsageError, "moved from");  // NOLINT
}

// They can neither seal nor give back another's buffers. They may name buffers that nobody has, as
// often as they like.
TEST_F(StoreTest, clientsCannotTouchEachOthersBuffers) {
    Server const server = serve();
    Store const client = connect();
    Buffer mine = client.create("mine", 100);
    detail::UnixSocket const stranger = stranger_at(path());
    std::uint32_t id = 0;
    auto const say = [&](messages::Message const& message) {
        EXPECT_TRUE(stranger.send(messages::encode(++id, message)));
    };
    say(messages::Hello{"stranger"});
    say(messages::SealBuffer{mine.id()});
    say(messages::ReleaseBuffer{mine.id()});
    for (unsigned i = 0; i < 100; ++i) {
        say(messages::ReleaseBuffer{i + 1});
        say(messages::ForgetMemory{i + 1});
    }
    say(messages::NextBuffer{0});
    unsigned refused = 0;
    EXPECT_TRUE(eventually([&] {
        auto const came = heard_by(stranger);
        if (!came) return false;
        if (auto const* no = std::get_if<messages::Refused>(&came->message)) {
            EXPECT_EQ(no->reason, RefusalReason::not_allowed);
            ++refused;
        }
        return std::holds_alternative<BufferInfo>(came->message);
    }));
    EXPECT_EQ(refused, 1U);
    mine.write(pattern(100, 5));
    EXPECT_EQ(bytes_of(mine.seal()), pattern(100, 5));
}

TEST_F(StoreTest, sealingIsTold) {
    Server const server = serve();
    Store const client = connect();
    (void)sealed("before");
    SealedEvents here = store().sealed_events();
    SealedEvents there = client.sealed_events();
    for (SealedEvents* each : {&here, &there}) EXPECT_FALSE(each->next());
    Buffer buffer = client.create("told", 77);
    for (SealedEvents* each : {&here, &there}) EXPECT_FALSE(each->next());
    std::uint64_t const id = buffer.seal().id();
    (void)sealed("after");
    for (SealedEvents* each : {&here, &there}) {
        ::pollfd readable{each->descriptor(), POLLIN, 0};
        EXPECT_EQ(::poll(&readable, 1, 30'000), 1);
        auto const first = each->next(patience);
        ASSERT_TRUE(first);
        EXPECT_EQ(first->id, id);
        EXPECT_EQ(first->name, "told");
        EXPECT_EQ(first->size, 77U);
        EXPECT_EQ(first->missed, 0U);
        auto const second = each->next(patience);
        ASSERT_TRUE(second);
        EXPECT_EQ(second->name, "after");
        EXPECT_EQ(::poll(&readable, 1, 0), 0);
    }
}

TEST_F(StoreTest, whoDoesNotReadIsToldHowManyItMissed) {
    Server const server = serve();
    SealedEvents there = connect().sealed_events();
    SealedEvents here = store().sealed_events();
    constexpr unsigned count = 3000;
    for (unsigned i = 0; i < count; ++i) store().remove(sealed("").id());
    for (SealedEvents* each : {&here, &there}) {
        std::uint64_t told = 0;
        std::uint64_t missed = 0;
        while (told + missed < count) {
            auto const next = each->next(patience);
            ASSERT_TRUE(next);
            ++told;
            missed += next->missed;
        }
        EXPECT_EQ(told + missed, count);
        // How much a socket keeps is the system's affair.
        EXPECT_TRUE(each == &there || missed != 0);
        EXPECT_FALSE(each->next());
    }
}

TEST_F(StoreTest, kernelHearsADoorbell) {
    auto bell = store().sealed_doorbell();
    EXPECT_EQ(bell.heard(), 0U);
    (void)sealed("a");
    (void)sealed("b");
    EXPECT_EQ(bell.heard(), 2U);
    CARILLON_EXPECT_ERROR((void)store().sealed_doorbell(), UsageError, "");
}

TEST_F(StoreTest, storeThatGoesIsNoticedAndBuffersStay) {
    Server const server = serve();
    Store const client = connect();
    Buffer made = client.create("a", 100);
    made.write(pattern(100, 4));
    Buffer const held = made.seal();
    Buffer open = client.create("b", 100);
    SealedEvents there = client.sealed_events();
    SealedEvents here = store().sealed_events();
    end_store();
    CARILLON_EXPECT_ERROR((void)there.next(patience), OwnerGoneError, "");
    CARILLON_EXPECT_ERROR((void)here.next(patience), OwnerGoneError, "destroyed");
    CARILLON_EXPECT_ERROR((void)client.get("a"), OwnerGoneError, "");
    CARILLON_EXPECT_ERROR((void)client.list(), OwnerGoneError, "");
    CARILLON_EXPECT_ERROR((void)open.seal(), OwnerGoneError, "");
    open.write(pattern(1, 1));
    EXPECT_EQ(bytes_of(held), pattern(100, 4));
    EXPECT_TRUE(eventually([&] {
        try {
            (void)connect();
        } catch (SystemError const&) {
            return true;
        } catch (Error const&) {
        }
        return false;
    }));
}

// 1. The store's process is killed. 2. C has its error, and its bytes. 3. Another takes the path.
TEST_F(StoreTest, storesProcessThatIsKilled) {
    Process first = serving({"store-own", path()});
    Store const client = connect();
    Buffer made = client.create("a", 100);
    made.write(pattern(100, 6));
    Buffer const held = made.seal();
    EXPECT_TRUE(first.kill());
    CARILLON_EXPECT_ERROR((void)client.get("a"), OwnerGoneError, "");
    EXPECT_EQ(bytes_of(held), pattern(100, 6));
    Process const second = serving({"store-own", path()});
    Store const again = connect();
    EXPECT_NE(again.owner().instance, client.owner().instance);
    EXPECT_TRUE(again.list().empty());
}

// 1. The store's process stops. 2. C releases more buffers than its socket has room to say. 3. The
// store goes on, and hears of each.
TEST_F(StoreTest, whatAStoreDoesNotReadForAWhileIsSaidLater) {
    Process const owner = serving({"store-own", path()});
    Store const client = connect();
    std::uint64_t const id = client.create("a", 100).seal().id();
    std::vector<Buffer> held;
    for (unsigned i = 0; i < 1000; ++i) held.push_back(client.get(id));
    EXPECT_EQ(client.list().at(0).holders, 1000U);
    EXPECT_EQ(refusal_of([&] { return client.get(id); }), RefusalReason::too_many_of_client);
    ASSERT_TRUE(owner.stop());
    held.clear();
    owner.go_on();
    EXPECT_EQ(client.list().at(0).holders, 0U);
}

TEST_F(StoreTest, mirrorsCopyAndWriteBack) {
    Server const server = serve();
    Store const client = connect();
    Buffer made = client.create("a", 100);
    {
        HostMirror mirror(made, {.read = false});
        auto const bytes = pattern(100, 8);
        std::ranges::copy(bytes, mirror.data().begin());
    }
    {
        HostMirror unwritten(made, {.write_back = false});
        EXPECT_TRUE(std::ranges::equal(unwritten.data(), pattern(100, 8)));
        unwritten.data()[0] = std::byte{99};
        CARILLON_EXPECT_ERROR(unwritten.write_back(), UsageError, "write back");
    }
    Buffer const buffer = made.seal();
    HostMirror const read(buffer);
    EXPECT_TRUE(std::ranges::equal(read.data(), pattern(100, 8)));
}

TEST_F(StoreTest, bufferIsNotSealedBeforeItsMirrorHasWrittenBack) {
    Server const server = serve();
    Store const client = connect();
    Buffer made = client.create("a", 100);
    HostMirror mirror(made);
    HostMirror another(made);
    std::ranges::copy(pattern(100, 8), mirror.data().begin());
    CARILLON_EXPECT_ERROR(made.seal(), UsageError, "HostMirror");
    another.write_back();
    CARILLON_EXPECT_ERROR(another.write_back(), UsageError, "has already written back");
    CARILLON_EXPECT_ERROR(made.seal(), UsageError, "HostMirror");
    mirror.write_back();
    EXPECT_TRUE(std::ranges::equal(HostMirror(made.seal()).data(), pattern(100, 8)));
}

// Catches a mirror that keeps the place of a buffer's object.
TEST_F(StoreTest, mirrorWritesToABufferThatWasMovedAndToNoneThatHasGone) {
    Server const server = serve();
    Store const client = connect();
    auto made = std::make_unique<Buffer>(client.create("a", 100));
    HostMirror mirror(*made, {.read = false});
    std::ranges::copy(pattern(100, 8), mirror.data().begin());
    std::optional<Buffer> moved(std::move(*made));
    made.reset();
    mirror.write_back();
    EXPECT_TRUE(std::ranges::equal(moved->mutable_data(), pattern(100, 8)));
    HostMirror late(*moved);
    moved.reset();
    CARILLON_EXPECT_ERROR(late.write_back(), UsageError, "the buffer was destroyed");
    EXPECT_TRUE(client.list().empty());
}

TEST_F(StoreTest, threadsOfOneConnectionAtOnce) {
    Server const server = serve();
    Store const client = connect();
    std::vector<std::jthread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < 50; ++i) {
                Buffer made = client.create("", 1000);
                made.write(pattern(1000, t * 50 + i));
                Buffer const buffer = made.seal();
                Buffer const again = client.get(buffer.id());
                client.remove(buffer.id());
                EXPECT_EQ(bytes_of(again), pattern(1000, t * 50 + i));
            }
        });
    }
    threads.clear();
    EXPECT_TRUE(client.list().empty());
}

// A thread that has the connection while another lets a buffer go tells the store of it: nobody
// sends another question.
TEST_F(StoreTest, whatIsLetGoBesideOtherThreadsQuestionsIsHeard) {
    Server const server = serve();
    Store const client = connect();
    std::uint64_t const id = client.create("a", 100).seal().id();
    for (unsigned round = 0; round < 20; ++round) {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < 4; ++t) {
            threads.emplace_back([&] {
                for (unsigned i = 0; i < 20; ++i) (void)client.get(id);
            });
        }
        threads.clear();
        ASSERT_TRUE(eventually([&] { return server.clients().at(0).buffers == 0; })) << round;
    }
}

TEST_F(StoreTest, childThatIsForkedMayUseNothingAndTheParentGoesOn) {
    Server const server = serve();
    Store const client = connect();
    Buffer made = client.create("a", 10);
    Buffer const buffer = sealed("b");
    EXPECT_EQ(in_child([&] {
                  return is_fork_error([&] { return client.get("b").id(); }) &&
                                 is_fork_error([&] { return made.mutable_data(); }) &&
                                 is_fork_error([&] { return buffer.data(); }) &&
                                 is_fork_error([&] { return store().list(); }) &&
                                 is_fork_error([&] { return server.clients(); })
                             ? 0
                             : 1;
              }),
              0);
    made.write(pattern(10, 1));
    EXPECT_EQ(bytes_of(made.seal()), pattern(10, 1));
}

}  // namespace
}  // namespace carillon::test
