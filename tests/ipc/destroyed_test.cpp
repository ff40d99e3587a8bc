// SPDX-License-Identifier: Apache-2.0
// An owner destroys what it shares while its server goes on. P: the owner, C: its clients; all in
// this process.
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <string>
#include <utility>

#include "carillon/carillon.hpp"
#include "ipc/handlers.hpp"
#include "ipc/process.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
namespace {

using ToDevice = SharedRing<Ask, Direction::to_device>;
using ToHost = SharedRing<Ask, Direction::to_host>;
using Status = SharedMailbox<Ask, Direction::to_host>;
using Kernel = PersistentKernel<CountingHandler, SharedChannels>;

class DestroyedTest : public testing::Test {
   protected:
    [[nodiscard]] std::string path() const { return path_.get(); }
    [[nodiscard]] Connection connect() const { return Connection(path(), {.timeout = patience}); }
    [[nodiscard]] Device const& device() const { return device_; }
    [[nodiscard]] Server& server() { return server_; }

    template <class Object, class... Arguments>
    [[nodiscard]] std::unique_ptr<Object> share(std::string const& name, Arguments&&... arguments) {
        auto object = std::make_unique<Object>(device_, std::forward<Arguments>(arguments)...);
        server_.share(name, *object);
        return object;
    }
    [[nodiscard]] std::unique_ptr<Kernel> add(std::string const& name) {
        auto kernel = std::make_unique<Kernel>(device_, KernelOptions{.idle = IdlePolicy::park()});
        server_.add(name, *kernel);
        return kernel;
    }

    // What `call` throws from some time on.
    template <class Call>
    [[nodiscard]] static std::string stopped(Call&& call) {
        std::string what;
        EXPECT_TRUE(eventually([&] {
            try {
                static_cast<void>(call());
            } catch (StoppedError const& error) {
                what = error.what();
            }
            return !what.empty();
        }));
        return what;
    }

   private:
    SocketPath path_;
    Device device_ = Device::open("emulated");
    Server server_{path_.get(), {.log = [](std::string const&) {}}};
};

TEST_F(DestroyedTest, callsOfItsClientsSaySo) {
    // 1. C has an object of each kind, and a channel.
    auto mailbox = share<SharedMailbox<Ask>>("limits");
    auto to_device = share<ToDevice>("orders");
    auto to_host = share<ToHost>("fills");
    auto chunks = share<SharedChunkRing<>>("chunks", ChunkRingOptions{.chunk_bytes = 4096});
    auto const kernel = add("quotes");
    Connection const owner = connect();
    auto limits = owner.mailbox<Ask>("limits");
    auto orders = owner.ring<Ask, Direction::to_device>("orders");
    auto fills = owner.ring<Ask, Direction::to_host>("fills");
    auto filled = owner.chunk_ring<>("chunks");
    auto quotes = owner.channel<Ask, Told>("quotes");
    // 2. P destroys the objects, while a thread of C waits for a message.
    auto waits = std::async(std::launch::async,
                            [&] { return stopped([&] { return fills.pop(patience); }); });
    mailbox.reset();
    to_device.reset();
    to_host.reset();
    chunks.reset();
    // 3. C hears of it, by whatever it does with them.
    EXPECT_EQ(stopped([&] {
                  limits.set({1});
                  return true;
              }),
              "Mailbox::set: the owner has destroyed the mailbox");
    EXPECT_EQ(stopped([&] { return orders.try_push({1}); }),
              "Ring::try_push: the owner has destroyed the ring to the device");
    CARILLON_EXPECT_ERROR(orders.push({1}, patience), StoppedError, "the owner has destroyed");
    EXPECT_EQ(waits.get(), "Ring::pop: the owner has destroyed the ring to the host");
    CARILLON_EXPECT_ERROR((void)fills.try_pop(), StoppedError, "Ring::try_pop: ");
    EXPECT_EQ(stopped([&] { return filled.try_claim(); }),
              "ChunkRing::claim: the owner has destroyed the chunk ring");
    // 4. The channel is as it was.
    EXPECT_EQ(quotes.call({4}, patience).twice, 8U);
}

TEST_F(DestroyedTest, readersFindWhatItSaidLast) {
    auto status = share<Status>("status", Ask{1});
    auto log = std::make_unique<LogService>(device(), LogOptions{.sink = [](LogRecord const&) {}});
    server().share("log", *log);
    Connection const owner = connect();
    auto reader = owner.mailbox<Ask, Direction::to_host>("status");
    LogReader messages = owner.log("log");
    status->device_handle().set({2});
    DeviceLog device_log = log->device_handle();
    carillon::log<"the last">(device_log);
    status.reset();
    log.reset();
    Ask found{};
    EXPECT_TRUE(reader.refresh(found));
    EXPECT_EQ(found.value, 2U);
    EXPECT_EQ(stopped([&] { return reader.refresh(found); }),
              "Mailbox::refresh: the owner has destroyed the mailbox to the host");
    auto const last = messages.next(patience);
    ASSERT_TRUE(last);
    EXPECT_EQ(last->text, "the last");
    CARILLON_EXPECT_ERROR((void)messages.next(patience), StoppedError,
                          "LogReader::next: the owner has destroyed the log");
}

TEST_F(DestroyedTest, reportsSaySoAndNobodyNewGetsIt) {
    auto mailbox = share<SharedMailbox<Ask>>("limits");
    auto status = share<Status>("status", Ask{1});
    Connection const owner = connect();
    for (auto const& object : owner.status().objects) EXPECT_EQ(object.state, KernelState::running);
    mailbox.reset();
    status.reset();
    for (auto const& object : owner.status().objects) {
        EXPECT_EQ(object.state, KernelState::stopped) << object.name;
        EXPECT_EQ(object.blocks.at(0).activity, BlockActivity::ended) << object.name;
    }
    CARILLON_EXPECT_ERROR((void)owner.mailbox<Ask>("limits"), RefusedError,
                          "refused (stopping): the owner has destroyed the mailbox");
    CARILLON_EXPECT_ERROR(((void)connect().mailbox<Ask, Direction::to_host>("status")),
                          RefusedError, "the owner has destroyed the mailbox to the host");
}

}  // namespace
}  // namespace carillon::test
