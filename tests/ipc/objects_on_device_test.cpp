// SPDX-License-Identifier: Apache-2.0
// Clients have the other ends of a kernel's mailbox, rings and chunks. P is the owner, which has
// launched the kernel; C is the client, by a connection.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "carillon/carillon.hpp"
#include "device/device_fixture.hpp"
#include "ipc/fixtures.hpp"

namespace carillon::test {
using namespace detail;

// Multiplies the ring's messages by the gain in the mailbox, and sums the bytes of chunks, until it
// is told to stop, or for a while.
struct SharedObjectsBody {
    static constexpr std::uint64_t longest_ns = 20'000'000'000;

    SharedMailbox<Ask>::DeviceEnd gains;
    SharedRing<Ask, Direction::to_device>::DeviceEnd orders;
    SharedChunkRing<std::uint64_t>::DeviceEnd ticks;
    SharedRing<Told, Direction::to_host>::DeviceEnd fills;
    SharedMailbox<Told, Direction::to_host>::DeviceEnd status;
    std::uint64_t const* stop;  // in host memory

    CARILLON_HD void operator()(unsigned /*block*/) {
        DeviceClock const clock;
        std::uint64_t const end = clock.now_ns() + longest_ns;
        Ask gain{1};
        std::uint64_t served = 0;
        while (DeviceNear().load_word(stop) == 0 && clock.now_ns() < end) {
            clock.idle(1);
            (void)gains.refresh(gain);
            fills.look();  // it may have nothing to push for long
            Ask order{};
            if (orders.try_pop(order)) tell({order.value * gain.value, ++served}, end);
            ChunkView<std::uint64_t> chunk{};
            if (ticks.try_take(chunk)) {
                std::uint64_t sum = chunk.meta;
                for (std::size_t i = 0; i < chunk.size; ++i) {
                    sum += static_cast<std::uint64_t>(chunk.data[i]);
                }
                (void)ticks.release(chunk.sequence);
                tell({sum, ++served}, end);
            }
        }
    }

    CARILLON_HD void tell(Told const& told, std::uint64_t end) {
        DeviceClock const clock;
        while (!fills.try_push(told) && clock.now_ns() < end) clock.idle(1);
        status.set(told);
    }
};

namespace {

class ObjectsOnDeviceTest : public AtPath<KernelTest> {};
CARILLON_ON_EVERY_DEVICE(ObjectsOnDeviceTest);

TEST_P(ObjectsOnDeviceTest, oneClientAfterAnotherHasThem) {
    constexpr std::size_t chunk_bytes = 1000;
    SharedMailbox<Ask> const gains(device());
    SharedRing<Ask, Direction::to_device> const orders(device(), {.capacity = 8});
    SharedChunkRing<std::uint64_t> const ticks(device(), {.chunk_bytes = chunk_bytes, .chunks = 4});
    SharedRing<Told, Direction::to_host> const fills(device(), {.capacity = 8});
    SharedMailbox<Told, Direction::to_host> const status(device(), Told{});
    Memory const stop = device().allocate_host(sizeof(std::uint64_t));
    auto* const told_to_stop = static_cast<std::uint64_t*>(stop.host_ptr());
    // 1. P launches its kernel, and serves the kernel's objects.
    Server server(path());
    server.add("gains", gains);
    server.add("orders", orders);
    server.add("ticks", ticks);
    server.add("fills", fills);
    server.add("status", status);
    auto const kernel = launch(
        device(), 1,
        SharedObjectsBody{gains.device_handle(), orders.device_handle(), ticks.device_handle(),
                          fills.device_handle(), status.device_handle(),
                          static_cast<std::uint64_t const*>(stop.device_ptr())});
    std::uint64_t served = 0;
    for (std::uint64_t client = 1; client <= 3; ++client) {
        // 2. C has all of it, sends more than there is room for at once, and is answered.
        {
            Connection const owner = connect();
            auto gain = owner.mailbox<Ask>("gains");
            auto order = owner.ring<Ask, Direction::to_device>("orders");
            auto tick = owner.chunk_ring<std::uint64_t>("ticks");
            auto fill = owner.ring<Told, Direction::to_host>("fills");
            gain.set({10 + client});
            // The first answer by the new gain says that the kernel has it.
            EXPECT_TRUE(eventually([&] {
                order.push({1}, patience);
                ++served;
                return fill.pop(patience).twice == 10 + client;
            }));
            for (std::uint64_t i = 1; i <= 50; ++i) {
                order.push({i}, patience);
                Told const told = fill.pop(patience);
                EXPECT_EQ(told.twice, i * (10 + client));
                EXPECT_EQ(told.served, ++served);
            }
            for (std::uint64_t i = 0; i < 10; ++i) {
                auto chunk = tick.claim(patience);
                chunk.fill(0, std::vector<std::byte>(chunk_bytes, static_cast<std::byte>(i)));
                chunk.commit(chunk_bytes, client);
                EXPECT_EQ(fill.pop(patience).twice, client + i * chunk_bytes);
                ++served;
            }
            auto seen = owner.mailbox<Told, Direction::to_host>("status");
            Told now{};
            EXPECT_TRUE(eventually([&] { return seen.refresh(now) && now.served == served; }));
        }
        // 3. C goes. The next one begins anew.
        EXPECT_TRUE(eventually([&] { return server.clients().empty(); }));
    }
    HostCached().store_word(told_to_stop, 1);
    EXPECT_TRUE(kernel.wait(patience));
}

// Reports how many sealed buffers it has heard of, until there are three, or for a while.
struct HearBody {
    decltype(std::declval<Store const&>().sealed_doorbell()) sealed;
    std::uint64_t* heard;  // in host memory

    CARILLON_HD void operator()(unsigned /*block*/) {
        DeviceClock const clock;
        std::uint64_t const end = clock.now_ns() + SharedObjectsBody::longest_ns;
        for (std::uint64_t count = 0; count < 3 && clock.now_ns() < end;) {
            clock.idle(1);
            count += sealed.heard();
            DeviceFar().store_word(heard, count);
        }
    }
};

// A kernel fills a buffer. Another process's kernel and CPU find the content when it is sealed.
struct FillBufferBody {
    std::uint64_t* words;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) const {
        for (std::uint64_t i = 0; i < count; ++i) words[i] = 3 * i + 1;
    }
};

TEST_P(ObjectsOnDeviceTest, bufferThatAKernelHasWrittenIsReadByOthers) {
    constexpr std::uint64_t count = 5000;
    Store const store(device());
    Server const server = store.serve(path());
    Store const maker(path(), {.timeout = patience, .device = std::make_shared<Device>(device())});
    auto const reader = connect<Store>();
    Buffer made = maker.create("words", count * sizeof(std::uint64_t));
    auto const kernel = launch(
        device(), 1, FillBufferBody{static_cast<std::uint64_t*>(made.mutable_device_ptr()), count});
    ASSERT_TRUE(kernel.wait(patience));
    (void)made.seal();
    HostMirror const mirror(reader.get("words"));
    auto const* const words = reinterpret_cast<std::uint64_t const*>(mirror.data().data());
    for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(words[i], 3 * i + 1);
}

// 1. C writes a buffer. 2. A kernel of P's reads it, where P has it and where another process
// would.
TEST_P(ObjectsOnDeviceTest, bufferThatAClientHasWrittenIsReadByAKernel) {
    Store const store(device());
    Server const server = store.serve(path());
    auto const client =
        connect<Store>({.timeout = patience, .device = std::make_shared<Device>(device())});
    std::vector<std::byte> bytes(50'000);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i * 11);
    Buffer made = client.create("bytes", bytes.size());
    made.write(bytes);
    Buffer const there = made.seal();
    Buffer const here = store.get("bytes");
    DeviceReader reader(device());
    for (Buffer const& each : {there, here}) {
        auto const read = reader.read(each.device_ptr(), each.size(), patience);
        EXPECT_TRUE(std::ranges::equal(read, bytes));
    }
}

TEST_P(ObjectsOnDeviceTest, kernelHearsThatBuffersAreSealed) {
    Store const store(device());
    Memory const heard = device().allocate_host(sizeof(std::uint64_t));
    auto* const word = static_cast<std::uint64_t*>(heard.host_ptr());
    auto const kernel =
        launch(device(), 1,
               HearBody{store.sealed_doorbell(), static_cast<std::uint64_t*>(heard.device_ptr())});
    for (std::uint64_t i = 1; i <= 3; ++i) {
        (void)store.create("buffer " + std::to_string(i), 64).seal();
        EXPECT_TRUE(eventually([&] { return HostCached().load_word(word) == i; }));
    }
    EXPECT_TRUE(kernel.wait(patience));
}

}  // namespace
}  // namespace carillon::test
