// SPDX-License-Identifier: Apache-2.0
// Messages by bytes, with ends by bytes and ends of types at the other side. P is the owner, in
// this process; C is its client, in this process too, through the socket.
#include "carillon/bytes.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "carillon/bytes_kernel.hpp"
#include "carillon/connection.hpp"
#include "carillon/kernel.hpp"
#include "carillon/shared_objects.hpp"
#include "ipc/fixtures.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using namespace std::chrono_literals;
using Message = std::vector<std::byte>;
using BytesClient = Channel<Bytes, Bytes>;
using RingTo = Ring<Bytes, Direction::to_device>;
using RingFrom = Ring<Bytes, Direction::to_host>;

template <class Of>
concept Pops = requires(Of& ring, std::span<std::byte> room) {
    ring.try_pop(room);
};
static_assert(Pops<RingFrom> && !Pops<RingTo>);

KernelOptions const parked{.blocks = 1, .capacity = 8, .idle = IdlePolicy::park()};

Message message_of(std::size_t size, unsigned seed) {
    Message bytes(size);
    for (std::size_t i = 0; i < size; ++i) {
        bytes[i] = static_cast<std::byte>(std::size_t{31} * seed + i * 7 + (i >> 8U));
    }
    return bytes;
}

struct Sizes {
    std::size_t request;
    std::size_t reply;
};

// Answers with the request's bytes over and over, each with one bit turned.
void turn_bits(void* user, void const* request, void* reply) {
    auto const& sizes = *static_cast<Sizes const*>(user);
    for (std::size_t i = 0; i < sizes.reply; ++i) {
        static_cast<std::byte*>(reply)[i] =
            static_cast<std::byte const*>(request)[i % sizes.request] ^ std::byte{0x55};
    }
}
Message turned(Message const& request, std::size_t size) {
    Message reply(size);
    Sizes sizes{request.size(), size};
    turn_bits(&sizes, request.data(), reply.data());
    return reply;
}

class BytesTest : public testing::TestWithParam<Sizes> {
   protected:
    [[nodiscard]] BytesKernel kernel(Device const& device) {
        return {device, type(sizes_.request), type(sizes_.reply), turn_bits, &sizes_, parked};
    }
    [[nodiscard]] static BytesType type(std::size_t bytes) {
        return {static_cast<std::uint32_t>(bytes)};
    }
    void expect_calls(BytesClient& client, unsigned calls) const {
        Message reply(sizes_.reply);
        for (unsigned i = 0; i < calls; ++i) {
            Message const request = message_of(sizes_.request, i);
            client.call(request, reply, patience);
            ASSERT_EQ(reply, turned(request, sizes_.reply)) << "call " << i;
        }
    }
    Sizes sizes_ = GetParam();
};
INSTANTIATE_TEST_SUITE_P(, BytesTest,
                         testing::Values(Sizes{1, 1}, Sizes{12, 13}, Sizes{48, 48}, Sizes{49, 25},
                                         Sizes{100, 768}, Sizes{1024, 1024}),
                         [](auto const& sizes) {
                             return "of" + std::to_string(sizes.param.request) + "and" +
                                    std::to_string(sizes.param.reply);
                         });

TEST_P(BytesTest, callsAreAnswered) {
    auto kernel = this->kernel(Device::open("emulated"));
    expect_calls(kernel.client(), 100);  // several laps
}

// Every line goes twice: its payload before its tags.
TEST_P(BytesTest, callsAreAnsweredWhereAQuadMayTear) {
    Device const device = Device::open("emulated");
    device.set_stores({StoreKind::cached, PublishMode::two_step});
    auto kernel = this->kernel(device);
    expect_calls(kernel.client(), 20);
}

TEST_P(BytesTest, repliesAreTakenInAnyOrder) {
    auto kernel = this->kernel(Device::open("emulated"));
    BytesClient& client = kernel.client();
    Message reply(sizes_.reply);
    for (unsigned lap = 0; lap < 5; ++lap) {
        std::vector<Ticket> tickets;
        for (unsigned i = 0; i < client.capacity(); ++i) {
            tickets.push_back(client.submit(message_of(sizes_.request, lap + i), patience));
        }
        EXPECT_FALSE(client.try_submit(message_of(sizes_.request, 0)));
        for (unsigned const i : {7U, 2U, 0U, 1U, 6U, 3U, 4U, 5U}) {
            client.wait(tickets[i], reply, patience);
            EXPECT_EQ(reply, turned(message_of(sizes_.request, lap + i), sizes_.reply)) << i;
        }
    }
}

TEST_P(BytesTest, manyGoTogether) {
    auto kernel = this->kernel(Device::open("emulated"));
    BytesClient& client = kernel.client();
    constexpr std::size_t many = 5;
    Message const requests = message_of(many * sizes_.request, 3);
    Message replies(many * sizes_.reply);
    for (unsigned lap = 0; lap < 5; ++lap) {
        Tickets sent;
        client.submit_n(requests, sent, patience);
        ASSERT_EQ(sent.size(), many);
        std::size_t taken = 0;
        ASSERT_TRUE(eventually([&] {
            taken += client.try_take_n(sent, std::span(replies).subspan(taken * sizes_.reply));
            return taken == many;
        }));
        for (std::size_t i = 0; i < many; ++i) {
            auto const request = requests.begin() + static_cast<long>(i * sizes_.request);
            auto const reply = replies.begin() + static_cast<long>(i * sizes_.reply);
            EXPECT_EQ(Message(reply, reply + static_cast<long>(sizes_.reply)),
                      turned(Message(request, request + static_cast<long>(sizes_.request)),
                             sizes_.reply));
        }
    }
}

TEST_P(BytesTest, ringsCarryThemBothWays) {
    Device const device = Device::open("emulated");
    RingTo to(device, sizes_.request, {.capacity = 4});
    RingFrom from(device, sizes_.request, {.capacity = 4});
    std::jthread const echo([&, in = to.device_handle(),
                             out = from.device_handle()](std::stop_token const& stop) mutable {
        Message message(sizes_.request);
        while (!stop.stop_requested()) {
            if (!in.try_pop(message)) {
                std::this_thread::yield();
                continue;
            }
            while (!out.try_push(message) && !stop.stop_requested()) std::this_thread::yield();
        }
    });
    Message message(sizes_.request);
    for (unsigned i = 0; i < 50; ++i) {
        to.push(message_of(sizes_.request, i), patience);
        from.pop(message, patience);
        ASSERT_EQ(message, message_of(sizes_.request, i));
    }
    Message const row = message_of(3 * sizes_.request, 9);
    ASSERT_EQ(to.try_push_n(row), 3U);
    Message back(3 * sizes_.request);
    std::size_t taken = 0;
    ASSERT_TRUE(eventually([&] {
        taken += from.try_pop_n(std::span(back).subspan(taken * sizes_.request));
        return taken == 3;
    }));
    EXPECT_EQ(back, row);
}

// Messages by bytes between processes: through kernels and objects that others serve.
using BytesOfOthersTest = WithDevice<>;

template <class T>
std::span<std::byte const> bytes_of(T const& message) {
    return std::as_bytes(std::span(&message, 1));
}
template <class T>
std::span<std::byte> room_of(T& message) {
    return std::as_writable_bytes(std::span(&message, 1));
}

TEST_F(BytesOfOthersTest, kernelOfTypesAnswersAClientByBytes) {
    // 1. P serves kernels of one line, and of several.
    PersistentKernel<CountingHandler, SharedChannels> const counting(device(), parked);
    PersistentKernel<SumHandler, SharedChannels> const sums(device(), parked);
    Server server(path());
    server.add("counting", counting);
    server.add("sums", sums);
    // 2. C knows the sizes, and of one the names.
    Connection const owner = connect();
    auto counts = owner.channel<Bytes, Bytes>("counting", {sizeof(Ask), "carillon::test::Ask"},
                                              {sizeof(Told)});
    auto adds = owner.channel<Bytes, Bytes>("sums", {sizeof(LongAsk)}, {sizeof(LongAsk)});
    for (std::uint64_t i = 0; i < 20; ++i) {
        Told told{};
        counts.call(bytes_of(Ask{i}), room_of(told), patience);
        EXPECT_EQ(told.twice, 2 * i);
        EXPECT_EQ(told.served, i);
        LongAsk ask{};
        std::iota(ask.word, ask.word + std::size(ask.word), i);
        LongAsk sum{};
        adds.call(bytes_of(ask), room_of(sum), patience);
        EXPECT_EQ(sum.word[39], i + 40);
    }
    EXPECT_EQ(counts.counters().taken, 20U);
}

void doubles(void* served, void const* request, void* reply) {
    Ask ask{};
    std::memcpy(&ask, request, sizeof(ask));
    Told const told{2 * ask.value, (*static_cast<std::uint64_t*>(served))++};
    std::memcpy(reply, &told, sizeof(told));
}

TEST_F(BytesOfOthersTest, kernelByBytesAnswersAClientOfTypes) {
    // 1. P serves a kernel that knows sizes. 2. C calls, goes, and comes again.
    std::uint64_t served = 0;
    BytesKernel kernel(device(), {sizeof(Ask)}, {sizeof(Told)}, doubles, &served, parked,
                       BytesClients::of_others);
    Server const server = kernel.serve(path());
    for (unsigned lap = 0; lap < 2; ++lap) {
        Process client = attached({"call", path(), "100"});
        EXPECT_EQ(client.line(), "first " + std::to_string(100 * lap));
        EXPECT_EQ(client.status(), 0);
    }
    // 3. P drains the kernel, and another C hears of it.
    kernel.drain(patience);
    EXPECT_EQ(kernel.state(), KernelState::stopped);
    EXPECT_EQ(served, 200U);
}

TEST_F(BytesOfOthersTest, ringsOfTypesAndByBytes) {
    SharedRing<LongAsk, Direction::to_device> const orders(device(), {.capacity = 4});
    SharedRing<Told, Direction::to_host> const fills(device(), {.capacity = 4});
    auto takes = orders.device_handle();
    auto sends = fills.device_handle();
    Server server(path());
    server.add("orders", orders);
    server.add("fills", fills);
    Connection const owner = connect();
    auto to = owner.ring<Bytes, Direction::to_device>("orders", {sizeof(LongAsk)});
    auto from = owner.ring<Bytes, Direction::to_host>("fills", {sizeof(Told)});
    for (std::uint64_t i = 0; i < 10; ++i) {
        LongAsk order{};
        order.word[39] = i;
        ASSERT_TRUE(to.try_push(bytes_of(order)));
        LongAsk taken{};
        ASSERT_TRUE(eventually([&] { return takes.try_pop(taken); }));
        EXPECT_EQ(taken.word[39], i);
        ASSERT_TRUE(eventually([&] { return sends.try_push(Told{i, 0}); }));
        Told fill{};
        from.pop(room_of(fill), patience);
        EXPECT_EQ(fill.twice, i);
    }
    CARILLON_EXPECT_ERROR((void)to.device_handle(), UsageError,
                          "only the owner's process has the device's end");
}

TEST_F(BytesOfOthersTest, refusalsNameBothSizes) {
    PersistentKernel<CountingHandler, SharedChannels> const kernel(device(), parked);
    Server const server = kernel.serve(path());
    Connection const owner = connect();
    CARILLON_EXPECT_ERROR(
        (void)(owner.channel<Bytes, Bytes>("kernel", {12}, {sizeof(Told)})), RefusedError,
        "the kernel's request is carillon::test::Ask of 8 bytes, but the client's is "
        "bytes of 12");
    CARILLON_EXPECT_ERROR((void)(owner.channel<Bytes, Bytes>("kernel", {8, "Ask"}, {sizeof(Told)})),
                          RefusedError, "the client's is Ask of 8");
    CARILLON_EXPECT_ERROR((void)(owner.channel<Bytes, Bytes>("quotes", {8}, {sizeof(Told)})),
                          RefusedError, "there is no \"quotes\"");
}

TEST_F(BytesOfOthersTest, namesAreComparedOnlyWhereBothGiveOne) {
    std::uint64_t served = 0;
    BytesKernel const kernel(device(), {sizeof(Ask), "Ask"}, {sizeof(Told)}, doubles, &served,
                             parked, BytesClients::of_others);
    Server const server = kernel.serve(path());
    Connection const owner = connect();
    EXPECT_NO_THROW((void)(owner.channel<Bytes, Bytes>("kernel", {sizeof(Ask), "Ask"},
                                                       {sizeof(Told), "anything"})));
    EXPECT_NO_THROW((void)(owner.channel<Bytes, Bytes>("kernel", {sizeof(Ask)}, {sizeof(Told)})));
    CARILLON_EXPECT_ERROR(
        (void)(owner.channel<Bytes, Bytes>("kernel", {sizeof(Ask), "Tick"}, {sizeof(Told)})),
        RefusedError, "the client's is Tick of 8");
    CARILLON_EXPECT_ERROR((void)(owner.channel<Ask, Told>()), RefusedError,
                          "the kernel's request is Ask of 8 bytes");
}

namespace a_desk_whose_name_is_long::and_a_book_whose_name_is_longer_than_that {
struct Tick {
    std::uint64_t value;
};
}  // namespace a_desk_whose_name_is_long::and_a_book_whose_name_is_longer_than_that
namespace long_names = a_desk_whose_name_is_long::and_a_book_whose_name_is_longer_than_that;

TEST_F(BytesOfOthersTest, namesThatDifferBehind63BytesAreNamesOfTwoTypes) {
    std::uint64_t served = 0;
    std::string const before =
        "carillon::test::(anonymous namespace)::a_desk_whose_name_is_long::"
        "and_a_book_whose_name_is_longer_than_that::";
    BytesKernel const kernel(device(), {8, before + "Tick"}, {sizeof(Told)}, doubles, &served,
                             parked, BytesClients::of_others);
    Server const server = kernel.serve(path());
    Connection const owner = connect();
    EXPECT_NO_THROW(
        (void)(owner.channel<Bytes, Bytes>("kernel", {8, before + "Tick"}, {sizeof(Told)})));
    EXPECT_NO_THROW((void)(owner.channel<long_names::Tick, Told>()));
    CARILLON_EXPECT_ERROR(
        (void)(owner.channel<Bytes, Bytes>("kernel", {8, before + "Quote"}, {sizeof(Told)})),
        RefusedError, "the client's is " + before.substr(0, 46) + "~");
    CARILLON_EXPECT_ERROR(
        (void)(owner.channel<Bytes, Bytes>("kernel", {8, before.substr(0, 63)}, {sizeof(Told)})),
        RefusedError, "of 8 bytes, but the client's is " + before.substr(0, 63));
}

TEST_F(BytesOfOthersTest, nameThatIsTooLongByHalfACharacterIsTheSameOnBothSides) {
    std::uint64_t served = 0;
    std::string const name = std::string(62, 'x') + "\xc3\xa9";
    BytesKernel const kernel(device(), {sizeof(Ask), name}, {sizeof(Told)}, doubles, &served,
                             parked, BytesClients::of_others);
    Server const server = kernel.serve(path());
    EXPECT_NO_THROW(
        (void)(connect().channel<Bytes, Bytes>("kernel", {sizeof(Ask), name}, {sizeof(Told)})));
}

TEST_F(BytesOfOthersTest, refusalShowsNoMoreOfANameThanIsSent) {
    std::uint64_t served = 0;
    BytesKernel const kernel(device(), {sizeof(Ask), std::string(1 << 20, 'x')}, {sizeof(Told)},
                             doubles, &served, parked, BytesClients::of_others);
    std::atomic<std::size_t> shown = 0;
    Server const server =
        kernel.serve(path(), {.log = [&](std::string const& line) { shown = line.size(); }});
    CARILLON_EXPECT_ERROR(
        (void)(connect().channel<Bytes, Bytes>("kernel", {sizeof(Ask), "Tick"}, {sizeof(Told)})),
        RefusedError, " of 8 bytes, but the client's is Tick of 8");
    EXPECT_TRUE(eventually([&] { return shown != 0; }));
    EXPECT_LT(shown, 400U);
}

TEST_F(BytesOfOthersTest, namesThatCannotBePrintedAreErrorsOfTheCallsThatGetThem) {
    BytesType const red{8, "\x1b[31mred\nowner: all is well"};
    BytesType const half{8, "desk::\xc3"};
    BytesType const plain{8};
    for (auto const clients : {BytesClients::of_this_process, BytesClients::of_others}) {
        CARILLON_EXPECT_ERROR(BytesKernel(device(), red, plain, doubles, nullptr, parked, clients),
                              UsageError,
                              "BytesKernel: the name of the request has a control character");
        CARILLON_EXPECT_ERROR(BytesKernel(device(), plain, half, doubles, nullptr, parked, clients),
                              UsageError,
                              "the name of the reply has a control character or is not UTF-8");
    }
    Server const server(path());
    Connection const owner = connect();
    CARILLON_EXPECT_ERROR((void)(owner.channel<Bytes, Bytes>("kernel", red, plain)), UsageError,
                          "Connection::channel: the name of the ");
    CARILLON_EXPECT_ERROR((void)(owner.channel<Bytes, Bytes>("kernel", plain, half)), UsageError,
                          "Connection::channel: the name of the ");
    CARILLON_EXPECT_ERROR((void)(owner.ring<Bytes, Direction::to_host>("ring", red)), UsageError,
                          "Connection::ring: the name of the message has a control character");
    CARILLON_EXPECT_ERROR((void)(owner.mailbox<Bytes, Direction::to_host>("box", red)), UsageError,
                          "Connection::mailbox: the name of the value has a control character");
    CARILLON_EXPECT_ERROR((void)owner.chunk_ring<Bytes>("chunks", half), UsageError,
                          "Connection::chunk_ring: the name of the meta has a control character");
}

void waits_to_be_let_go(void* gate, void const* /*request*/, void* /*reply*/) {
    while (!static_cast<std::atomic<bool>*>(gate)->load()) std::this_thread::sleep_for(1ms);
}

TEST(BytesErrorsTest, aCallThatIsNotAnsweredTimesOut) {
    std::atomic<bool> gate = false;
    BytesKernel kernel(Device::open("emulated"), {4}, {4}, waits_to_be_let_go, &gate, parked);
    Message message(4);
    CARILLON_EXPECT_ERROR(kernel.client().call(message, message, 5ms), TimeoutError, "no reply");
    CARILLON_EXPECT_ERROR(kernel.drain(5ms), TimeoutError, "");
    gate = true;
    kernel.drain(patience);
    CARILLON_EXPECT_ERROR(kernel.client().call(message, message, patience), StoppedError, "");
}

void throws(void* /*user*/, void const* /*request*/, void* /*reply*/) {
    throw std::runtime_error("the handler's own");
}

TEST(BytesErrorsTest, aHandlerThatThrowsEndsTheKernel) {
    BytesKernel kernel(Device::open("emulated"), {4}, {4}, throws, nullptr, parked);
    Message message(4);
    EXPECT_THROW(kernel.client().call(message, message, patience), std::exception);
    EXPECT_EQ(kernel.state(), KernelState::failed);
}

TEST(BytesErrorsTest, messagesAtANullPointerAreRefused) {
    BytesKernel kernel(Device::open("emulated"), {4}, {4}, throws, nullptr, parked);
    BytesClient& client = kernel.client();
    Message four(4);
    std::span<std::byte> const null(static_cast<std::byte*>(nullptr), 4);
    char const* const says = ": 4 bytes requested at a null pointer";
    Tickets sent;
    Tickets tickets(1, 1, 1);
    CARILLON_EXPECT_ERROR(client.call(null, four, patience), UsageError, says);
    CARILLON_EXPECT_ERROR(client.call(four, null, patience), UsageError, says);
    CARILLON_EXPECT_ERROR((void)client.try_submit(null), UsageError, says);
    CARILLON_EXPECT_ERROR((void)client.submit(null, patience), UsageError, says);
    CARILLON_EXPECT_ERROR((void)client.try_submit_n(null), UsageError, says);
    CARILLON_EXPECT_ERROR(client.submit_n(null, sent, patience), UsageError, says);
    CARILLON_EXPECT_ERROR((void)client.try_take(tickets[0], null), UsageError, says);
    CARILLON_EXPECT_ERROR(client.wait(tickets[0], null, patience), UsageError, says);
    CARILLON_EXPECT_ERROR((void)client.try_take_n(tickets, null), UsageError, says);
    EXPECT_TRUE(client.try_submit_n({}).empty());
    EXPECT_EQ(kernel.state(), KernelState::running) << "nothing was sent";
}

TEST(BytesErrorsTest, whatMakesNoSenseIsRefused) {
    Device const device = Device::open("emulated");
    Message const four(4);
    Message five(5);
    CARILLON_EXPECT_ERROR(RingFrom(device, 0), UsageError,
                          "a message of 0 bytes is not possible: it has 1 to 1024");
    CARILLON_EXPECT_ERROR(RingFrom(device, 1025), UsageError, "1025 bytes");
    CARILLON_EXPECT_ERROR(BytesKernel(device, {4}, {4}, nullptr, nullptr), UsageError,
                          "the handler is a null pointer");
    CARILLON_EXPECT_ERROR(BytesKernel(device, {4}, {2000}, throws, nullptr), UsageError,
                          "a reply of 2000 bytes");
    BytesKernel kernel(device, {4}, {4}, throws, nullptr, parked);
    CARILLON_EXPECT_ERROR(kernel.client().call(five, five, 1s), UsageError,
                          "a request of 5 bytes was given, but the other side's has 4");
    CARILLON_EXPECT_ERROR(kernel.client().call(four, five, 1s), UsageError, "a reply of 5 bytes");
    CARILLON_EXPECT_ERROR((void)kernel.client().try_submit_n(five), UsageError,
                          "5 bytes are not a whole number of requests of 4 bytes");
    CARILLON_EXPECT_ERROR((void)kernel.client(1), UsageError, "there is no channel 1");
    CARILLON_EXPECT_ERROR((void)kernel.serve("/nowhere"), UsageError, "of_others");
    RingTo ring(device, 4, {.capacity = 2});
    CARILLON_EXPECT_ERROR((void)ring.try_push(five), UsageError, "a message of 5 bytes");
    auto end = ring.device_handle();
    CARILLON_EXPECT_ERROR((void)ring.device_handle(), UsageError, "");
    CARILLON_EXPECT_ERROR((void)end.try_pop(five), UsageError, "a message of 5 bytes");
    EXPECT_EQ(ring.try_push_n(Message(12)), 2U);
    EXPECT_FALSE(ring.try_push(four));
    CARILLON_EXPECT_ERROR(ring.push(four, 1ms), TimeoutError, "the ring stayed full");
}

}  // namespace
}  // namespace carillon::test
