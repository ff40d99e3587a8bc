// SPDX-License-Identifier: Apache-2.0
// Every error begins with the name of the public call that it leaves, and not with that of an inner
// one.
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "carillon/arena.hpp"
#include "carillon/bytes_kernel.hpp"
#include "carillon/chunk_ring.hpp"
#include "carillon/connection.hpp"
#include "carillon/copy.hpp"
#include "carillon/device_reader.hpp"
#include "carillon/device_writer.hpp"
#include "carillon/flag.hpp"
#include "carillon/host_service.hpp"
#include "carillon/log.hpp"
#include "carillon/mailbox.hpp"
#include "carillon/mpmc_ring.hpp"
#include "carillon/owned_by_block.hpp"
#include "carillon/placement.hpp"
#include "carillon/ring.hpp"
#include "carillon/shared_objects.hpp"
#include "carillon/store.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

struct Named {
    char const* name;
    std::function<void()> act;
};

void expect_names(std::vector<Named> const& calls) {
    for (Named const& each : calls) {
        SCOPED_TRACE(each.name);
        try {
            each.act();
            ADD_FAILURE() << "nothing was thrown";
        } catch (Error const& error) {
            EXPECT_EQ(error.call(), each.name) << error.what();
            EXPECT_TRUE(std::string(error.what()).starts_with(error.call() + ": ")) << error.what();
        }
    }
}

struct Same {
    CARILLON_HD int operator()(int const& value) const { return value; }
};
struct Nothing {
    CARILLON_HD void operator()(unsigned /*block*/) const {}
};
struct NamesFails {
    CARILLON_HD int operator()(int const& value) const {
#if !defined(__CUDA_ARCH__)
        if (value == 7) throw Error("7 is no request");
#endif
        return value;
    }
};

class NamesTest : public testing::Test {
   protected:
    Device device_ = Device::open("emulated");
};

TEST_F(NamesTest, constructorsOfEnds) {
    std::shared_ptr<ChannelMemory> const none;
    std::size_t const too_much = std::numeric_limits<std::size_t>::max() / 4;
    expect_names({
        {"Ring", [&] { Ring<int, Direction::to_device>(device_, {.capacity = 3}); }},
        {"Mailbox", [&] { Mailbox<int, Direction::to_host>(device_, 0, {.capacity = 3}); }},
        {"ChunkRing", [&] { ChunkRing<>(device_, {.chunks = 3}); }},
        {"ChunkRing", [&] { ChunkRing<>(device_, {.chunk_bytes = 0}); }},
        {"ChunkRing", [&] { ChunkRing<>(Arena(device_, 4096), {.chunks = 16}); }},
        {"MpmcRing", [&] { MpmcRing<int, Direction::to_device>(device_, {.stripe = 3}); }},
        {"Channel", [&] { Channel<int, int>(device_, 3); }},
        {"Channel", [&] { Channel<int, int>(device_, none, 0, HostWait()); }},
        {"ChannelMemory", [&] { ChannelMemory(device_, 0, 2); }},
        {"SharedMailbox", [&] { SharedMailbox<int>(device_, {.readers = 0}); }},
        {"SharedMailbox",
         [&] { SharedMailbox<int, Direction::to_host>(device_, 0, {.capacity = 3}); }},
        {"SharedRing", [&] { SharedRing<int, Direction::to_device>(device_, {.capacity = 3}); }},
        {"SharedChunkRing", [&] { SharedChunkRing<>(device_, {.chunks = 3}); }},
        {"Arena", [&] { Arena(device_, too_much); }},
        {"Arena", [&] { Arena(device_, 0); }},
    });
}

TEST_F(NamesTest, constructorsOfKernelsAndServices) {
    auto const memory = std::make_shared<ChannelMemory>(device_, 1, 8);
    expect_names({
        {"PersistentKernel", [&] { PersistentKernel<Same>(device_, {.blocks = 0}); }},
        {"PersistentKernel", [&] { PersistentKernel<Same>(device_, {.pool = {.clients = 2}}); }},
        {"PersistentKernel",
         [&] { PersistentKernel<Same>(device_, {.blocks = 2, .memory = memory}); }},
        {"PersistentKernel",
         [&] { PersistentKernel<Same, Pool>(device_, {.pool = {.clients = 0}}); }},
        {"PersistentKernel",
         [&] { PersistentKernel<Same, WatchedChannels>(device_, {.watched = {.per_block = 1}}); }},
        {"PersistentKernel", [&] { PersistentKernel<Same>(device_, {.capacity = 3}); }},
        {"DeviceReader", [&] { DeviceReader(device_, {.largest = 0}); }},
        {"DeviceReader", [&] { DeviceReader(device_, {.threads = 33}); }},
        {"DeviceWriter", [&] { DeviceWriter(device_, {.chunks = 0}); }},
        {"DeviceWriter", [&] { DeviceWriter(device_, {.blocks = 0}); }},
        {"HostService", [&] { HostService<int, int>(device_, nullptr); }},
        {"HostService",
         [&] { HostService<int, int>(device_, [](int) { return 0; }, {.capacity = 3}); }},
        {"HostService",
         [&] { HostService<int, int>(device_, [](int) { return 0; }, {.callers = 0}); }},
        {"LogService", [&] { LogService(device_, {.capacity = 3}); }},
        {"launch", [&] { (void)launch(device_, 0, Nothing()); }},
        {"launch",
         [&] {
             (void)launch(device_, LaunchShape{1, 2000}, Nothing());
         }},
        {"launch",
         [&] {
             (void)launch(device_, LaunchShape{0}, [](unsigned /*block*/) { return Nothing(); });
         }},
        {"Pins", [&] { Pins(device_, {}); }},
        {"OnCore", [&] { OnCore(100'000); }},
    });
}

TEST_F(NamesTest, callsOfServersAndStores) {
    std::string const nowhere = "/nowhere/carillon.sock";
    Store const store(device_, {.bytes = std::size_t{1} << 20});
    Store gone(device_, {.bytes = std::size_t{1} << 20});
    Store const moved(std::move(gone));
    Server server;
    server.add(store);
    Buffer open = store.create("open", 64);
    Buffer made = store.create("made", 64);
    Buffer const sealed = made.seal();
    HostMirror mirror(open);
    Buffer emptied = store.create("moved", 64);
    Buffer const kept = std::move(emptied);
    std::vector<std::byte> bytes(65);
    expect_names({
        {"Connection", [&] { Connection const owner(nowhere); }},
        {"Server", [&] { Server const with({.mode = 0}); }},
        {"Server", [&] { Server const at(nowhere); }},
        {"Server::open", [&] { server.open(nowhere); }},
        {"Server::add", [&] { server.add(store); }},
        {"Server::add", [&] { server.add("", SharedRing<int, Direction::to_device>(device_)); }},
        {"Store", [&] { Store const none(device_, {.bytes = 0}); }},
        {"Store", [&] { Store const there(nowhere); }},
        {"Store::create", [&] { (void)store.create("", 0); }},
        {"Store::create", [&] { (void)store.create("open", 64); }},
        {"Store::get", [&] { (void)store.get(0); }},
        {"Store::get", [&] { (void)store.get("nothing"); }},
        {"Store::remove", [&] { store.remove("nothing"); }},
        {"Store::owner", [&] { (void)store.owner(); }},
        {"Store::serve", [&] { (void)store.serve(nowhere); }},
        {"Store::list", [&] { (void)gone.list(); }},  // NOLINT: it was moved from
        {"Buffer::write", [&] { open.write(bytes, 0); }},
        {"Buffer::seal", [&] { (void)open.seal(); }},
        {"Buffer::mutable_data", [&] { (void)made.mutable_data(); }},
        {"Buffer::mutable_device_ptr", [&] { (void)made.mutable_device_ptr(); }},
        {"Buffer::read", [&] { sealed.read(bytes); }},
        {"HostMirror", [&] { HostMirror const late(emptied); }},  // NOLINT(bugprone-use-after-move)
        {"HostMirror::write_back",
         [&] {
             mirror.write_back();
             mirror.write_back();
         }},
    });
}

void says_nothing(void* /*user*/, void const* /*request*/, void* /*reply*/) {}

TEST_F(NamesTest, callsWithBytes) {
    std::vector<std::byte> five(5);
    Ring<Bytes, Direction::to_device> ring(device_, 4);
    Mailbox<Bytes, Direction::to_host> status(device_, {five.data(), 4});
    ChunkRing<Bytes> chunks(device_, 4);
    BytesKernel kernel(device_, {4}, {4}, says_nothing, nullptr);
    auto takes = ring.device_handle();
    auto sets = status.device_handle();
    auto chunk = chunks.claim(1s);
    expect_names({
        {"Ring", [&] { Ring<Bytes, Direction::to_device>(device_, 0); }},
        {"Mailbox", [&] { Mailbox<Bytes, Direction::to_host>(device_, {}); }},
        {"ChunkRing", [&] { ChunkRing<Bytes>(device_, 41); }},
        {"Ring::try_push", [&] { ring.try_push(five); }},
        {"Ring::try_push_n", [&] { ring.try_push_n(five); }},
        {"Mailbox::refresh", [&] { (void)status.refresh(five); }},
        {"Chunk::commit", [&] { chunk.commit(1, five); }},
        {"DeviceEnd::try_pop", [&] { (void)takes.try_pop(five); }},
        {"DeviceEnd::set", [&] { sets.set(five); }},
        {"BytesKernel", [&] { BytesKernel(device_, {4}, {4}, nullptr, nullptr); }},
        {"BytesKernel::client", [&] { (void)kernel.client(1); }},
        {"PersistentKernel::serve", [&] { (void)kernel.serve("/nowhere"); }},
        {"Client::call", [&] { kernel.client().call(five, five, 1s); }},
        {"Client::try_take", [&] { (void)kernel.client().try_take(Ticket(), five); }},
    });
}

TEST_F(NamesTest, handlesThatAreGivenOnce) {
    Ring<int, Direction::to_device> const ring(device_);
    Mailbox<int, Direction::to_host> const mailbox(device_, 0);
    Doorbell<Direction::to_device> const bell(device_);
    Channel<int, int> const channel(device_);
    ChunkRing<> const chunks(device_);
    SharedRing<int, Direction::to_device> const shared(device_);
    SharedMailbox<int, Direction::to_host> const status(device_, 0);
    auto const taken = ring.device_handle();
    (void)OwnedByBlock(0, taken);
    (void)mailbox.device_handle();
    (void)bell.device_handle();
    (void)channel.device_handle();
    (void)chunks.device_handle();
    (void)shared.device_handle();
    (void)status.device_handle();
    expect_names({{"Ring::device_handle", [&] { (void)ring.device_handle(); }},
                  {"OwnedByBlock", [&] { (void)OwnedByBlock(1, taken); }},
                  {"Mailbox::device_handle", [&] { (void)mailbox.device_handle(); }},
                  {"Doorbell::device_handle", [&] { (void)bell.device_handle(); }},
                  {"Client::device_handle", [&] { (void)channel.device_handle(); }},
                  {"ChunkRing::device_handle", [&] { (void)chunks.device_handle(); }},
                  {"ChunkRing::block_handle", [&] { (void)chunks.block_handle(); }},
                  {"SharedRing::device_handle", [&] { (void)shared.device_handle(); }},
                  {"SharedMailbox::device_handle", [&] { (void)status.device_handle(); }}});
}

TEST_F(NamesTest, callsOfKernelsRingsAndMemory) {
    PersistentKernel<Same> kernel(device_);
    ChannelMemory memory(device_, 2, 8);
    MpmcRing<int, Direction::to_device> const many(device_, {.producers = 1});
    auto const producer = many.producer();
    Arena const arena(device_, 4096);
    Memory const bytes = device_.allocate(64);
    std::vector<ChannelLocation> const twice{{0, 0}, {0, 1}};
    std::vector<std::byte> more(65);
    Tickets tickets;
    int reply = 0;
    expect_names({
        {"PersistentKernel::channel", [&] { (void)kernel.channel(1); }},
        {"PersistentKernel::express", [&] { (void)kernel.express(); }},
        {"PersistentKernel::sm", [&] { (void)kernel.sm(1); }},
        {"PersistentKernel::activity", [&] { (void)kernel.activity(1); }},
        {"PersistentKernel::beats", [&] { (void)kernel.beats(1); }},
        {"Client::wait", [&] { (void)kernel.channel().wait(Ticket(), 1ms); }},
        {"Client::try_take", [&] { (void)kernel.channel().try_take(Ticket()); }},
        {"Client::abandon", [&] { kernel.channel().abandon(Ticket()); }},
        {"Client::try_submit_n",
         [&] {
             (void)kernel.channel().try_submit_n({static_cast<int const*>(nullptr), 1});
         }},
        {"Client::take_n",
         [&] {
             int const request = 1;
             tickets = kernel.channel().try_submit_n({&request, 1});
             kernel.channel().take_n(tickets, {&reply, 0}, 1ms);
         }},
        {"ChannelMemory::reset", [&] { memory.reset(0); }},
        {"ChannelMemory::arrange", [&] { memory.arrange(twice); }},
        {"MpmcRing::producer", [&] { (void)many.producer(); }},
        {"Arena::allocate", [&] { (void)arena.allocate(1 << 20); }},
        {"Device::allocate", [&] { (void)device_.allocate(0); }},
        {"Device::allocate_host", [&] { (void)device_.allocate_host(0); }},
        {"Device::allocate_shared_host", [&] { (void)device_.allocate_shared_host(0); }},
        {"Device::register_host", [&] { (void)device_.register_host({}); }},
        {"Device::map", [&] { (void)device_.map(bytes.device_ptr(), 64); }},
        {"Device::access", [&] { (void)device_.access(Memory()); }},
        {"Device::open", [&] { (void)Device::open("no such device"); }},
        {"Memory::flush", [&] { bytes.flush(64, 1); }},
        {"Memory::invalidate", [&] { bytes.invalidate(64, 1); }},
        {"Memory::export_fd", [&] { (void)Memory().export_fd(); }},
        {"copy_to_device", [&] { copy_to_device(bytes, 0, more); }},
        {"copy_from_device", [&] { copy_from_device(more, bytes, 0); }},
    });
}

// All callers get one error object when an error has ended the kernel: no thread writes its text.
TEST_F(NamesTest, errorThatEndedAKernelIsOneForAllThreads) {
    PersistentKernel<NamesFails> kernel(device_, {.blocks = 2});
    EXPECT_THROW((void)kernel.channel(0).call(7, patience), Error);
    std::vector<std::string> texts(2);
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < 2; ++i) {
            threads.emplace_back([&, i] {
                for (int again = 0; again < 100; ++again) {
                    try {
                        (void)kernel.channel(i).call(1, patience);
                    } catch (Error const& error) {
                        EXPECT_TRUE(error.ended_kernel());
                        texts[i] = error.what();
                    }
                }
            });
        }
    }
    EXPECT_NE(texts[0].find("7 is no request"), std::string::npos) << texts[0];
    EXPECT_EQ(texts[0], texts[1]);
    EXPECT_THROW(kernel.stop(), Error);
}

}  // namespace
}  // namespace carillon::test
