// SPDX-License-Identifier: Apache-2.0
// Objects that clients read and cannot write: mailboxes from the device, and logs. P is the owner,
// in this process; the test's thread plays its device. C is a client, in this process or in
// another.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <thread>
#include <utility>

#include "carillon/carillon.hpp"
#include "ipc/fixtures.hpp"
#include "ipc/stranger.hpp"
#include "serving/published_log.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;

class PublishedTest : public WithServer<> {
   protected:
    PublishedTest() : WithServer(quiet()) {}
};

struct Position {
    std::uint64_t value[20];  // of several lines
};
Position position(std::uint64_t value) {
    Position made{};
    std::ranges::fill(made.value, value);
    return made;
}
template <class End>
std::uint64_t latest(End& end) {
    Position found{};
    EXPECT_TRUE(end.refresh(found));
    EXPECT_EQ(std::ranges::count(found.value, found.value[0]), 20);
    return found.value[0];
}

TEST_F(PublishedTest, mailboxFromTheDeviceIsReadByAsManyAsAsk) {
    SharedMailbox<Position, Direction::to_host> const shared(device(), position(1));
    server().add("position", shared);
    auto end = shared.device_handle();
    CARILLON_EXPECT_ERROR((void)shared.device_handle(), UsageError, "device_handle");
    // 1. Two C and P itself find the first value. 2. The device sets another, and all find it.
    Connection const owner = connect();
    auto first = owner.mailbox<Position, Direction::to_host>("position");
    auto own = shared.reader();
    Position none{};
    {
        Connection const another = connect();
        auto second = another.mailbox<Position, Direction::to_host>("position");
        EXPECT_EQ(latest(first) + latest(second) + latest(own), 3U);
        EXPECT_FALSE(first.refresh(none));
        end.set(position(7));
        EXPECT_EQ(latest(first) + latest(second) + latest(own), 21U);
        auto const status = owner.status().objects.at(0);
        EXPECT_EQ(status.kind, ObjectKind::mailbox_to_host);
        EXPECT_TRUE(status.emulated);
        ASSERT_EQ(status.blocks.size(), 2U);
        EXPECT_EQ(status.blocks[1].activity, BlockActivity::idle);
        EXPECT_FALSE(status.blocks[1].client.empty());
    }
    // 3. One C goes. The next one gets its place, and finds the present value.
    EXPECT_TRUE(eventually([&] { return server().clients().size() == 1; }));
    auto third = owner.mailbox<Position, Direction::to_host>("position");
    EXPECT_EQ(latest(third), 7U);
    EXPECT_EQ(owner.status().objects.at(0).blocks.size(), 2U);
    auto reader = third.reader();
    EXPECT_EQ(latest(reader), 7U);
    // 4. It is P's to write, and of one type.
    CARILLON_EXPECT_ERROR((void)third.device_handle(), UsageError, "the device's end");
    CARILLON_EXPECT_ERROR((void)owner.mailbox<Position>("position"), RefusedError,
                          "is a mailbox to the host, not a mailbox");
    CARILLON_EXPECT_ERROR(((void)owner.mailbox<Ask, Direction::to_host>("position")), RefusedError,
                          "the mailbox to the host's request is");
    // 5. P ends. C still reads the value that P set last.
    end.set(position(9));
    end_server();
    EXPECT_EQ(latest(first), 9U);
    EXPECT_TRUE(eventually([&] {
        try {
            return first.refresh(none);
        } catch (OwnerGoneError const&) {
            return true;
        }
    }));
}

// The lease and memory that a client gets of an object by the socket's messages.
std::pair<detail::Attached, FileDescriptor> lent_to_a_stranger(std::string const& path,
                                                               std::string const& object,
                                                               ObjectKind kind,
                                                               detail::MessageType const& type) {
    detail::UnixSocket const stranger = known_at(path);
    EXPECT_TRUE(say(stranger, detail::Attach{object, kind, type, type, false}, 2));
    std::pair<detail::Attached, FileDescriptor> lent;
    EXPECT_TRUE(eventually([&] {
        auto received = stranger.receive();
        auto* const message = std::get_if<detail::SocketMessage>(&received);
        if (message == nullptr) return false;
        auto const decoded = detail::decode(message->bytes, message->descriptors.size());
        auto const* attached = std::get_if<detail::Attached>(&decoded.message);
        if (attached == nullptr) return false;
        lent = {*attached, std::move(message->descriptors.at(0))};
        return true;
    }));
    return lent;
}

// C tries every way into the memory that it is lent.
TEST_F(PublishedTest, nobodyButTheOwnerWrites) {
    SharedMailbox<Ask, Direction::to_host> const shared(device(), {4});
    server().add("status", shared);
    auto const [attached, file] = lent_to_a_stranger(path(), "status", ObjectKind::mailbox_to_host,
                                                     detail::message_type<Ask>(mailbox_lines<Ask>));
    std::size_t const size = attached.memory.bytes;
    int const fd = file.get();
    EXPECT_EQ(::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
    // Opened anew by its name in /proc it is the same memory.
    FileDescriptor const again(
        ::open(("/proc/self/fd/" + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_GE(again.get(), 0);
    EXPECT_EQ(::mmap(nullptr, size, PROT_WRITE, MAP_SHARED, again.get(), 0), MAP_FAILED);
    void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
    ASSERT_NE(mapped, MAP_FAILED);
    EXPECT_NE(::mprotect(mapped, size, PROT_READ | PROT_WRITE), 0);
    ::munmap(mapped, size);
    EXPECT_EQ(::pwrite(fd, "anything", 8, 0), -1);
    EXPECT_EQ(::fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
    EXPECT_NE(::ftruncate(fd, 0), 0);
    Ask value{};
    auto reader = shared.reader();
    EXPECT_TRUE(reader.refresh(value));
    EXPECT_EQ(value.value, 4U);
}

// The owner's log; the test waits for its messages.
class LogClientsTest : public PublishedTest {
   protected:
    [[nodiscard]] LogService make(std::uint32_t shared_capacity = 256) const {
        return LogService(device(),
                          {.sink = [](LogRecord const&) {}, .shared_capacity = shared_capacity});
    }
    [[nodiscard]] static std::string next(LogReader& log) {
        auto const record = log.next(patience);
        EXPECT_TRUE(record);
        return record ? record->text : "";
    }
};

TEST_F(LogClientsTest, everyClientReadsAllMessages) {
    LogService service = make();
    server().add("log", service);
    DeviceLog log = service.device_handle();
    // 1. The device logs. 2. Two C read all; one of them also reads the messages from before it
    // came.
    Connection const owner = connect();
    LogReader first = owner.log("log");
    EXPECT_FALSE(first.next(0ns));
    for (unsigned i = 0; i < 3; ++i) carillon::log<"price {}", LogLevel::warning>(log, i);
    service.flush(patience);
    LogReader second = owner.log("log");
    for (LogReader* each : {&first, &second}) {
        auto const record = each->next(patience);
        ASSERT_TRUE(record);
        EXPECT_EQ(record->text, "price 0");
        EXPECT_EQ(record->level, LogLevel::warning);
        EXPECT_NE(record->time_ns, 0U);
        EXPECT_EQ(next(*each), "price 1");
        EXPECT_EQ(next(*each), "price 2");
        EXPECT_FALSE(each->next(0ns));
        EXPECT_EQ(each->missed(), 0U);
    }
    EXPECT_EQ(owner.status().objects.at(0).kind, ObjectKind::log);
    // 3. A text is escaped, and is cut where the room ends.
    carillon::log<"a\x1b[2Jb">(log);
    EXPECT_EQ(next(first), "a [2Jb");
    carillon::log<"{:>600}">(log, 1);
    EXPECT_EQ(next(first), std::string(480, ' '));
    // 4. P ends: C reads all that P wrote, and then gets the error.
    carillon::log<"the last">(log);
    service.flush(patience);
    end_server();
    EXPECT_EQ(next(first), "the last");
    CARILLON_EXPECT_ERROR((void)first.next(patience), OwnerGoneError, "LogReader::next");
}

TEST_F(LogClientsTest, whoDoesNotKeepUpIsToldHowMuchItMissed) {
    LogService const service = make(8);
    server().add("log", service);
    DeviceLog log = service.device_handle();
    Connection const owner = connect();
    LogReader reader = owner.log("log");
    for (unsigned i = 0; i < 20; ++i) carillon::log<"message {}">(log, i);
    service.flush(patience);
    EXPECT_EQ(next(reader), "message 12");
    EXPECT_EQ(reader.missed(), 12U);
    // Messages that were gone before a reader came do not count as missed.
    LogReader late = owner.log("log");
    EXPECT_EQ(next(late), "message 12");
    EXPECT_EQ(late.missed(), 0U);
    EXPECT_THROW((void)make(3), UsageError);
    EXPECT_THROW((void)make(1U << 17U), UsageError);
}

// Every message is read once or missed, in order, whatever the owner's thread does meanwhile.
TEST_F(LogClientsTest, readsWhileTheOwnerWrites) {
    LogService const service = make(4);
    server().add("log", service);
    LogReader reader = connect().log("log");
    constexpr std::uint64_t count = 2000;
    std::jthread const device([&, log = service.device_handle()]() mutable {
        for (std::uint64_t i = 0; i < count; ++i) {
            carillon::log<"{}">(log, i);
            if (i % 16 == 0) service.flush(patience);  // so that none is dropped
        }
    });
    std::uint64_t seen = 0;
    std::uint64_t expected = 0;
    while (expected < count) {
        auto const record = reader.next(patience);
        ASSERT_TRUE(record);
        ++seen;
        ASSERT_EQ(std::stoull(record->text) + 1, seen + reader.missed());
        expected = seen + reader.missed();
    }
    EXPECT_EQ(service.dropped(), 0U);
}

// P writes anything: C reads messages that are possible, passes others over, and is done in a
// bounded time.
TEST_F(LogClientsTest, whatNoOwnerWritesIsPassedOver) {
    detail::PublishedLog log(device(), 4);
    MailboxView const view = log.object()->host_view();
    auto const reader = [&] {
        return detail::LogReaderState(
            {{}, view, HostMapped(HostStores{}), HostWait::for_kernel(device().traits(), 1, {})});
    };
    log.write({1, 2, LogLevel::info, "good"});
    MailboxView next = view;
    next.first = 2;
    MailboxWriter<detail::PublishedMessage, HostMapped> writer(next, HostMapped(HostStores{}));
    detail::PublishedMessage message{1, 2, 4, 1, "level"};
    writer.set(message);
    message = {1, 2, 0, 481, "size"};
    writer.set(message);
    detail::LogReaderState state = reader();
    EXPECT_EQ(state.look()->text, "good");
    EXPECT_FALSE(state.look());
    EXPECT_EQ(state.missed(), 2U);
    for (std::uint64_t newest : {std::uint64_t{0}, std::uint64_t{2}, std::uint64_t{1} << 40U,
                                 ~std::uint64_t{0} - 1, ~std::uint64_t{0}}) {
        *view.newest = newest;
        EXPECT_FALSE(state.look());
        (void)reader().look();
    }
}

// 1. C is another process, and reads. 2. P is gone, and C ends by itself.
TEST_F(LogClientsTest, anotherProcessFollows) {
    SharedMailbox<Ask, Direction::to_host> const status(device(), {5});
    LogService const service = make();
    server().add("status", status);
    server().add("log", service);
    DeviceLog log = service.device_handle();
    Process client({"follow", path()});
    EXPECT_EQ(client.line(), "status 5");
    carillon::log<"limit {} of {}">(log, 2, 3.5);
    EXPECT_EQ(client.line(), "limit 2 of 3.5");
    end_server();
    EXPECT_EQ(client.status(), 0);
}

}  // namespace
}  // namespace carillon::test
