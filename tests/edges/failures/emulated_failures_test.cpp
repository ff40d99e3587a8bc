// SPDX-License-Identifier: Apache-2.0
// On the emulated device every allocation, thread and system call of the library fails once.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "carillon/carillon.hpp"
#include "device/bodies.hpp"
#include "edges/failures/one_failure.hpp"
#include "support/environment_variable.hpp"

namespace carillon::test {
namespace {

using namespace std::chrono_literals;

constexpr auto patient = 10s;

void require(bool right, char const* what) {
    if (!right) throw std::logic_error(what);
}

struct Twice {
    CARILLON_HD int operator()(int const& value) const { return 2 * value; }
};

// Asks the host.
struct AskTwice {
    HostService<int, int>::Caller host;
    DeviceLog log_to;

    CARILLON_HD int operator()(int const& value) {
        log<"asked for {}">(log_to, value);
        int answer = 0;
        auto const result = host.call(value, answer, 1'000'000'000);
        return result == HostCallResult::answered ? answer : -1;
    }
};

Device emulated() { return Device::open("emulated"); }

void open_a_device() { require(!emulated().info().name.empty(), "a device without a name"); }

void one_channel() {
    PersistentKernel<Twice> kernel(emulated(), {.channels = {.express = true}});
    require(kernel.channel().call(21, patient) == 42, "a wrong reply");
    PersistentKernel<Twice> moved = std::move(kernel);
    require(moved.express().call(4, patient) == 8, "a wrong express reply");
    moved.stop();
}

void several_blocks() {
    PersistentKernel<Twice> kernel(emulated(), {.blocks = 3});
    for (unsigned i = 0; i < 3; ++i) {
        require(kernel.channel(i).call(5, patient) == 10, "a wrong reply");
    }
    kernel.drain(patient);
}

void many_channels() {
    PersistentKernel<Twice, WatchedChannels> kernel(emulated(), {.watched = {.per_block = 64}});
    require(kernel.channel(63).call(21, patient) == 42, "a wrong reply");
    kernel.drain(patient);
}

void pool() {
    PersistentKernel<Twice, Pool> kernel(emulated(),
                                         {.blocks = 2, .pool = {.clients = 2, .replies = 2}});
    auto client = kernel.client();
    require(client.call(21, patient) == 42, "a wrong reply");
    auto const given_up = client.submit(1, patient);
    client.abandon(given_up);
    require(client.call(22, patient) == 44, "a wrong reply");
    kernel.drain(patient);
}

void service() {
    Device const device = emulated();
    HostService<int, int> const twice(device, [](int const& value) { return 2 * value; },
                                      {.callers = 4, .capacity = 32});
    LogService const to_nowhere(device, {.sink = [](LogRecord const&) {}});
    PersistentKernel<AskTwice> kernel(device, {},
                                      AskTwice{twice.device_handle(), to_nowhere.device_handle()});
    // A reply that the host could not make is one that did not come.
    int const answer = kernel.channel().call(21, patient);
    require(answer == 42 || answer == -1, "a wrong reply");
    twice.flush(patient);
    twice.rethrow_failure();
    kernel.drain(patient);
}

void rings_and_words() {
    Device const device = emulated();
    ChunkRing<int> chunks(device, {.chunk_bytes = 4096, .chunks = 4});
    require(chunks.try_claim().has_value(), "no chunk is free");
    MpmcRing<Message, Direction::to_device> shared(device, {.capacity = 64, .producers = 2});
    require(shared.producer().try_push(Message::make(1)), "a new ring is full");
    Mailbox<Message, Direction::to_device> mailbox(device, Message::make(1));
    mailbox.set(Message::make(2));
    Flag<int, Direction::to_device> flag(device);
    flag.set(3);
    Doorbell<Direction::to_host> const doorbell(device);
    Arena const arena(device, 65536);
    require(arena.allocate(100).size() == 100, "a piece of another size");
}

void echo() {
    Device const device = emulated();
    Ring<Message, Direction::to_device> in(device);
    Ring<Message, Direction::to_host> out(device);
    RunningKernel const kernel =
        launch(device, 1, EchoBody{in.device_handle(), out.device_handle(), 1});
    in.push(Message::make(7), patient);
    require(out.pop(patient).whole(), "a damaged message");
    require(kernel.wait(patient), "the kernel goes on");
}

void reader() {
    Device const device = emulated();
    Memory const memory = device.allocate(4096);
    static_cast<char*>(memory.host_ptr())[5] = 'x';
    DeviceReader from(device, {.largest = 1024, .blocks = 2});
    require(from.read(memory, 5, 1, patient)[0] == std::byte{'x'}, "another byte");
    (void)from.read(memory, 0, 1024, patient);
    from.stop();
}

void writer() {
    Device const device = emulated();
    Memory const memory = device.allocate(4096);
    DeviceWriter to(device, {.chunk = 1024, .chunks = 2});
    std::array<std::byte, 3000> bytes{};
    bytes[2999] = std::byte{'x'};
    to.write(memory, 5, bytes, patient);
    require(static_cast<char const*>(memory.host_ptr())[3004] == 'x', "another byte");
    Memory const own = device.register_host(bytes);
    to.write(memory, 6, own, 0, 3000, patient);
    require(static_cast<char const*>(memory.host_ptr())[3005] == 'x', "another byte");
    to.stop();
}

void shared_memory() {
    Memory const memory = emulated().allocate_shared_host(3000);
    require(memory.export_fd().get() >= 0, "no descriptor");
}

void tuning() {
    PlacementProfile const profile = tune(emulated(), {.seconds = 1, .rounds = 1, .cores = true});
    require(!profile.sms.empty(), "an empty profile");
}

void profile_file() {
    std::string folder = std::filesystem::temp_directory_path() / "carillon-XXXXXX";
    {
        InStandIn const not_the_librarys;
        if (::mkdtemp(folder.data()) == nullptr) throw std::logic_error("mkdtemp");
    }
    struct Remove {
        std::string const& folder;
        ~Remove() {
            InStandIn const not_the_librarys;
            std::error_code ignored;
            std::filesystem::remove_all(folder, ignored);
        }
    } const remove{folder};
    Device const device = emulated();
    PlacementProfile profile;
    profile.sms = {{0, 1000}};
    auto const path = std::filesystem::path(folder) / "sub" / "profile.json";
    save_placement_profile(profile, path);
    require(load_placement_profile(path, device.info()).sms.size() == 1, "another profile");
}

// A folder that goes with it; none of its calls fails.
class OwnFolder {
   public:
    OwnFolder() {
        InStandIn const not_the_librarys;
        path_ = std::filesystem::temp_directory_path() / "carillon-XXXXXX";
        if (::mkdtemp(path_.data()) == nullptr) throw std::logic_error("mkdtemp");
    }
    ~OwnFolder() {
        InStandIn const not_the_librarys;
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    OwnFolder(OwnFolder const&) = delete;
    OwnFolder& operator=(OwnFolder const&) = delete;

    [[nodiscard]] std::string const& path() const { return path_; }

   private:
    std::string path_;
};

// Both sides, whose threads may fail too: the owner then drops clients that it cannot answer, and
// the client loses its owner.
void owner_and_client() {
    OwnFolder const folder;
    auto const path = std::filesystem::path(folder.path()) / "twice.sock";
    PersistentKernel<Twice, SharedChannels> const kernel(emulated(),
                                                         {.blocks = 1, .idle = IdlePolicy::park()});
    SharedRing<int, Direction::to_device> const orders(emulated());
    auto end = orders.device_handle();
    Server server(path, {.log = [](std::string const&) {}});
    server.add("twice", kernel);
    server.add("orders", orders);
    Connection const owner(path, {.timeout = 2s});
    require(owner.status().objects.size() == 2, "another number of objects");
    auto channel = owner.channel<int, int>("twice");
    require(channel.call(21, patient) == 42, "a wrong reply from another process");
    auto ring = owner.ring<int, Direction::to_device>("orders");
    require(ring.try_push(4), "a ring without room");
    int found = 0;
    require(end.try_pop(found) && found == 4, "a wrong message from another process");
}

void server_that_opens_again() {
    OwnFolder const folder;
    auto const path = std::filesystem::path(folder.path()) / "owner.sock";
    SharedMailbox<int> const limit(emulated());
    Server server;
    server.add("limit", limit);
    std::exception_ptr failed;
    try {
        server.open(path);
    } catch (SystemError const&) {
        failed = std::current_exception();
        require(server.path().empty() && !std::filesystem::exists(path), "a path without a server");
        server.open(path);
    }
    Connection const owner(path, {.timeout = 2s});
    require(owner.status().objects.size() == 1, "another number of objects");
    if (failed) std::rethrow_exception(failed);
}

// Room for two buffers exactly.
constexpr std::size_t half_a_store = 65536;

void put_and_get(Store const& store) {
    Buffer made = store.create("a buffer whose name is no short string", half_a_store);
    made.write(std::vector(half_a_store, std::byte{7}));
    Buffer const sealed = made.seal();
    Buffer const got = store.get(sealed.name());
    require(HostMirror(got).data().back() == std::byte{7}, "another content");
    Buffer const other = store.create("another whose name is no short string", 1);
    require(store.list().size() == 2, "another number of buffers");
    store.remove(sealed.id());
}

// Requires that a failed call has left nothing in the store, which has as much room as before.
void require_empty(Store const& store) {
    for (BufferInfo const& each : store.list()) store.remove(each.id);
    Buffer const first = store.create("a buffer whose name is no short string", 1);
    Buffer const second = store.create("", half_a_store);
    for (BufferInfo const& each : store.list()) require(each.holders == 1, "a hold is left");
    bool full = false;
    try {
        (void)store.create("", 1);
    } catch (RefusedError const&) {
        full = true;
    }
    require(full, "more room than there is");
}

void own_store() {
    Store const store(emulated(), {.bytes = 2 * half_a_store});
    std::exception_ptr failed;
    try {
        put_and_get(store);
    } catch (...) {
        failed = std::current_exception();
    }
    require_empty(store);
    if (failed) std::rethrow_exception(failed);
}

// A client that waits for sealed buffers may lose its connection, but the store must lose none of
// its own.
void store_and_client() {
    OwnFolder const folder;
    auto const path = std::filesystem::path(folder.path()) / "store.sock";
    Store const store(emulated(), {.bytes = 2 * half_a_store});
    std::exception_ptr failed;
    try {
        Server const server = store.serve(path, {.log = [](std::string const&) {}});
        Store const client(path, {.timeout = 2s});
        SealedBuffers waits = client.sealed_buffers();
        put_and_get(client);
        // A buffer that was removed before the waiter heard of it is counted with the next one that
        // comes.
        Buffer const stays = client.create("one more whose name is no short string", 1).seal();
        require(waits.next(2s).has_value() || waits.missed() != 0, "no sealed buffer has come");
    } catch (...) {
        failed = std::current_exception();
    }
    require_empty(store);
    if (failed) std::rethrow_exception(failed);
}

class EmulatedFailureTest : public testing::TestWithParam<Scenario> {};

TEST_P(EmulatedFailureTest, eachIsATypedErrorThatLeavesNothingBehind) {
    Environment const no_profiles("CARILLON_PROFILES", "/nowhere");
    expect_each_failure_is_survived(GetParam());
}

std::vector<FaultKind> const all{FaultKind::thread, FaultKind::system, FaultKind::allocation};

// The JSON library allocates in its destructors; if that fails, the process ends.
std::vector<FaultKind> const but_allocations{FaultKind::thread, FaultKind::system};

// A failure in the owner reaches the client in the owner's words: system calls are left out.
std::vector<FaultKind> const but_system_calls{FaultKind::thread, FaultKind::allocation};

INSTANTIATE_TEST_SUITE_P(
    , EmulatedFailureTest,
    testing::Values(Scenario{"open", &open_a_device, all}, Scenario{"kernel", &one_channel, all},
                    Scenario{"blocks", &several_blocks, all},
                    Scenario{"channels", &many_channels, all, 7}, Scenario{"pool", &pool, all},
                    Scenario{"service", &service, all}, Scenario{"rings", &rings_and_words, all},
                    Scenario{"launch", &echo, all}, Scenario{"reader", &reader, all},
                    Scenario{"writer", &writer, all}, Scenario{"shared", &shared_memory, all},
                    Scenario{"processes", &owner_and_client, but_system_calls, 7},
                    Scenario{"reopen", &server_that_opens_again, {FaultKind::thread}},
                    Scenario{"store", &own_store, all},
                    Scenario{"stores", &store_and_client, but_system_calls},
                    Scenario{"tune", &tuning, all, 193, 18},  // then those for the next core
                    Scenario{"profile", &profile_file, but_allocations}),
    [](auto const& of) { return std::string(of.param.name); });

}  // namespace
}  // namespace carillon::test
