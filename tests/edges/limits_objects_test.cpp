// SPDX-License-Identifier: Apache-2.0
// Objects that are not there: moved from, null, of another device. A call says so, or behaves.
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "edges/limits.hpp"

namespace carillon::test {
namespace {

using Kernel = PersistentKernel<GatedHandler>;
using Pooled = PersistentKernel<GatedHandler, Pool>;
using Service = HostService<int, int>;

// These types can be neither copied nor moved, so no object of them is ever moved from.
template <class T>
inline constexpr bool stays = !std::is_copy_constructible_v<T> && !std::is_move_constructible_v<T>;
static_assert(stays<Ring<int, Direction::to_device>> && stays<Ring<int, Direction::to_host>>);
static_assert(stays<Flag<int, Direction::to_device>> && stays<Doorbell<Direction::to_host>>);
static_assert(stays<Mailbox<int, Direction::to_device>>);
static_assert(stays<Channel<int, int>> && stays<ChannelMemory> && stays<Pins> && stays<Guard>);

int same(int value) { return value; }

class LimitsOfObjectsTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(LimitsOfObjectsTest);

// A call of an object that was moved from.
template <class Call>
Limit moved(std::string const& what, Call const& call) {
    return {what + ", moved from", Expected::usage(what + ": the object was moved from"), call};
}
template <class Call>
Limit none(std::string const& what, Call const& call) {
    return {what + ", moved from", Expected::behaves(), call};
}

// The calls that every kernel has, on one that was moved from.
template <class K>
void try_calls_of_moved(K& kernel) {
    try_limits({moved("PersistentKernel::state", [&] { return kernel.state(); }),
                moved("PersistentKernel::activity", [&] { return kernel.activity(); }),
                moved("PersistentKernel::sm", [&] { return kernel.sm(); }),
                moved("PersistentKernel::blocks", [&] { return kernel.blocks(); }),
                moved("PersistentKernel::running", [&] { return kernel.running(); }),
                moved("PersistentKernel::drain", [&] { kernel.drain(patience); }),
                moved("PersistentKernel::stop", [&] { kernel.stop(); })});
}

// The tests make on purpose the calls that this check warns of.
TEST_P(LimitsOfObjectsTest, movedKernels) {
    Kernel kernel(device());
    Kernel to(std::move(kernel));
    try_calls_of_moved(kernel);
    auto const channel = Expected::usage("there is no channel");
    try_limits({none("PersistentKernel::channels", [&] { return kernel.channels() == 0; }),
                none("PersistentKernel::placement", [&] { (void)kernel.placement(); }),
                {"PersistentKernel::channel, moved from", channel, [&] { (void)kernel.channel(); }},
                {"PersistentKernel::express, moved from", channel, [&] { (void)kernel.express(); }},
                {"PersistentKernel, moved to", Expected::behaves(),
                 [&] {
                     return to.channel().call({1, 0}, patience).value == 4;
                 }},
                {"PersistentKernel::operator=", Expected::behaves(), [&] {
                     kernel = std::move(to);
                     return kernel.channel().call({1, 0}, patience).value == 4;
                 }}});
}

TEST_P(LimitsOfObjectsTest, movedPools) {
    Pooled kernel(device());
    auto client = kernel.client();
    auto const ticket = client.submit({1, 0}, patience);
    auto to_client = std::move(client);
    Pooled const to(std::move(kernel));
    try_calls_of_moved(kernel);
    auto const taken = Expected::usage("no reply is outstanding");
    try_limits({moved("PersistentKernel::client", [&] { (void)kernel.client(); }),
                moved("Client::call",
                      [&] {
                          return client.call({1, 0}, patience).value == 4;
                      }),
                moved("Client::try_submit",
                      [&] {
                          (void)client.try_submit({1, 0});
                      }),
                moved("Client::submit",
                      [&] {
                          (void)client.submit({1, 0}, patience);
                      }),
                {"Client::try_take, moved from", taken, [&] { (void)client.try_take(ticket); }},
                {"Client::wait, moved from", taken, [&] { (void)client.wait(ticket, patience); }},
                {"Client::abandon, moved from", taken, [&] { client.abandon(ticket); }},
                {"Client of a pool, moved to", Expected::behaves(),
                 [&] { return to_client.wait(ticket, patience).value == 4; }},
                {"PersistentKernel of a pool, moved to", Expected::behaves(), [&] {
                     return to.client().call({1, 0}, patience).value == 4;
                 }}});
}

TEST_P(LimitsOfObjectsTest, movedReadersAndServices) {
    Memory const memory = device().allocate(64);
    DeviceReader reader(device());
    DeviceWriter writer(device());
    Service service(device(), same);
    LogService log(device());
    DeviceReader const to_reader(std::move(reader));
    DeviceWriter const to_writer(std::move(writer));
    Service const to_service(std::move(service));
    LogService const to_log(std::move(log));
    try_limits(
        {moved("DeviceReader::read", [&] { (void)reader.read(memory, 0, 8, patience); }),
         moved("DeviceReader::read", [&] { (void)reader.read(memory.device_ptr(), 8, patience); }),
         moved("DeviceReader::stop", [&] { reader.stop(); }),
         moved("DeviceReader::running", [&] { return reader.running(); }),
         moved("DeviceWriter::write", [&] { writer.write(memory, 0, {}, patience); }),
         moved("DeviceWriter::submit", [&] { (void)writer.submit(nullptr, nullptr, 0, patience); }),
         moved("DeviceWriter::stop", [&] { writer.stop(); }),
         moved("DeviceWriter::running", [&] { return writer.running(); }),
         moved("copy_to_device", [&] { copy_to_device(memory, 0, {}, writer, patience); }),
         moved("HostService::device_handle", [&] { (void)service.device_handle(); }),
         moved("HostService::flush", [&] { service.flush(patience); }),
         moved("HostService::failures", [&] { return service.failures(); }),
         moved("HostService::rethrow_failure", [&] { service.rethrow_failure(); }),
         moved("LogService::device_handle", [&] { (void)log.device_handle(); }),
         moved("LogService::flush", [&] { log.flush(patience); }),
         moved("LogService::failures", [&] { return log.failures(); }),
         moved("LogService::rethrow_failure", [&] { log.rethrow_failure(); }),
         moved("LogService::dropped", [&] { return log.dropped(); })});
}

TEST_P(LimitsOfObjectsTest, movedMemory) {
    Memory memory = device().allocate(64);
    Memory const to = std::move(memory);
    Arena const arena(device(), 4096);
    ArenaPiece piece = arena.allocate(64);
    ArenaPiece const to_piece = std::move(piece);
    FileDescriptor file = to.export_fd();
    FileDescriptor const to_file = std::move(file);
    std::array<std::byte, 1> byte{};
    try_limits({none("Memory::host_ptr", [&] { return memory.host_ptr() == nullptr; }),
                none("Memory::device_ptr", [&] { return memory.device_ptr() == nullptr; }),
                none("Memory::size", [&] { return memory.size() == 0; }),
                none("Memory::coherent", [&] { return memory.coherent(); }),
                none("Memory::atom_size", [&] { return memory.atom_size() == 1; }),
                none("Memory::range_sync", [&] { return memory.range_sync() == nullptr; }),
                none("Memory::flush", [&] { memory.flush(0, 0); }),
                none("Memory::invalidate", [&] { memory.invalidate(0, 0); }),
                {"Memory::flush of 1 byte, moved from", Expected::usage("Memory::flush: "),
                 [&] { memory.flush(0, 1); }},
                {"Memory::export_fd, moved from", Expected::usage("Memory::export_fd: "),
                 [&] { (void)memory.export_fd(); }},
                {"Device::access, moved from", Expected::usage("Device::access: "),
                 [&] { (void)device().access(memory); }},
                {"copy_to_device, moved from", Expected::usage("copy_to_device: "),
                 [&] { copy_to_device(memory, 0, byte); }},
                {"copy_from_device, moved from", Expected::usage("copy_from_device: "),
                 [&] { copy_from_device(byte, memory, 0); }},
                none("ArenaPiece::host", [&] { return piece.host_ptr() == nullptr; }),
                none("ArenaPiece::device", [&] { return piece.device_ptr() == nullptr; }),
                none("ArenaPiece::size", [&] { return piece.size() + piece.offset() == 0; }),
                none("ArenaPiece::memory", [&] { return piece.memory().size() == 0; }),
                none("FileDescriptor::get", [&] { return file.get() < 0; }),
                {"FileDescriptor::duplicate, moved from", Expected::error<SystemError>("fcntl"),
                 [&] { (void)file.duplicate(); }},
                {"FileDescriptor::close_on_exec, moved from", Expected::error<SystemError>("fcntl"),
                 [&] { file.close_on_exec(); }}});
}

TEST_P(LimitsOfObjectsTest, movedHandlesAreCopies) {
    Device opened = device();
    Device const to_device = std::move(opened);
    Arena arena(opened, 4096);
    Arena const to_arena = std::move(arena);
    ChunkRing<> chunks(arena, {.chunk_bytes = 64, .chunks = 2});
    ChunkRing<> to_chunks = std::move(chunks);
    MpmcRing<int, Direction::to_device> ring(device());
    MpmcRing<int, Direction::to_device> const to_ring = std::move(ring);
    try_limits({none("Device", [&] { return opened.info().name == to_device.info().name; }),
                none("Arena", [&] { return arena.allocate(8).size() == 8; }),
                none("ChunkRing", [&] { return chunks.try_claim().has_value(); }),
                none("MpmcRing", [&] { return ring.producer().try_push(1); })});
}

TEST_P(LimitsOfObjectsTest, movedEnds) {
    MpmcRing<int, Direction::to_device> const ring(device());
    auto producer = ring.producer();
    auto to_producer = std::move(producer);
    ChunkRing<> chunks(device(), {.chunk_bytes = 64, .chunks = 2});
    auto chunk = chunks.claim(patience);
    auto const to_chunk = std::move(chunk);
    auto kernel = launch(device(), 1, NothingBody{});
    RunningKernel const to_kernel = std::move(kernel);
    std::array<int, 2> const messages{1, 2};
    auto const gone = Expected::usage("the chunk was committed or moved from");
    try_limits({moved("MpmcRing::try_push", [&] { return producer.try_push(1); }),
                moved("MpmcRing::try_push_n", [&] { return producer.try_push_n(messages); }),
                moved("MpmcRing::push", [&] { producer.push(1, patience); }),
                moved("MpmcRing::warm", [&] { producer.warm(); }),
                moved("MpmcRing::index", [&] { (void)producer.index(); }),
                moved("MpmcRing::record", [&] { (void)producer.record(); }),
                {"MpmcRing::producer, moved to", Expected::behaves(),
                 [&] { return to_producer.try_push_n(messages) == 2; }},
                {"Chunk::bytes, moved from", gone, [&] { (void)chunk.bytes(); }},
                {"Chunk::fill, moved from", gone, [&] { chunk.fill(0, {}); }},
                {"Chunk::flush, moved from", gone, [&] { chunk.flush(); }},
                {"Chunk::commit, moved from", gone, [&] { chunk.commit(0); }},
                none("RunningKernel::finished", [&] { return kernel.finished(); }),
                none("RunningKernel::wait", [&] { return kernel.wait(0ns); }),
                {"RunningKernel, moved to", Expected::behaves(),
                 [&] { return to_kernel.wait(patience); }}});
}
// NOLINTEND(bugprone-use-after-move)

TEST_P(LimitsOfObjectsTest, null) {
    std::shared_ptr<ChannelMemory> const no_memory;
    HostWait const wait;
    DeviceReader reader(device());
    DeviceWriter writer(device());
    Memory const memory = device().allocate(64);
    std::span<std::byte const> const no_bytes(static_cast<std::byte const*>(nullptr), 8);
    Ring<int, Direction::to_device> to(device());
    Ring<int, Direction::to_host> from(device());
    MpmcRing<int, Direction::to_device> const shared(device());
    std::span<int> const at_null(static_cast<int*>(nullptr), 1);
    auto const null = Expected::usage("null pointer");
    try_limits(
        {{"Channel, no memory", null, [&] { Channel<int, int>(device(), no_memory, 0, wait); }},
         {"PersistentKernel, no memory", Expected::behaves(),
          [&] { Kernel(device(), {.memory = no_memory}); }},
         {"Channels::profile, none", Expected::behaves(),
          [&] { Kernel(device(), {.channels = {.profile = nullptr}}); }},
         {"HostService, no function",
          Expected::usage("HostService: the function that serves requests is empty"),
          [&] { Service(device(), nullptr); }},
         {"LogService, no sink", Expected::behaves(), [&] { LogService(device(), {.sink = {}}); }},
         {"DeviceReader::read, null", null, [&] { (void)reader.read(nullptr, 8, patience); }},
         {"DeviceReader::read, nothing at null", Expected::behaves(),
          [&] { return reader.read(nullptr, 0, patience).empty(); }},
         {"Device::register_host, null", null,
          [&] {
              (void)device().register_host({static_cast<std::byte*>(nullptr), 8});
          }},
         {"DeviceWriter::write, from null", null,
          [&] { writer.write(memory, 0, no_bytes, patience); }},
         {"DeviceWriter::write, to null", null,
          [&] { writer.write(nullptr, memory.device_ptr(), 8, patience); }},
         {"DeviceWriter::submit, from null", null,
          [&] { (void)writer.submit(memory.device_ptr(), nullptr, 8, patience); }},
         {"DeviceWriter::write, nothing at null", Expected::behaves(),
          [&] { writer.write(nullptr, nullptr, 0, patience); }},
         {"copy_to_device by a writer, from null", null,
          [&] { copy_to_device(memory, 0, no_bytes, writer, patience); }},
         {"Ring::try_push_n, null", null, [&] { to.try_push_n(at_null); }},
         {"Ring::try_pop_n, null", null, [&] { (void)from.try_pop_n(at_null); }},
         {"MpmcRing::try_push_n, null", null, [&] { shared.producer().try_push_n(at_null); }},
         {"copy_to_device, nothing", Expected::behaves(), [&] { copy_to_device(memory, 64, {}); }},
         {"copy_from_device, nothing", Expected::behaves(),
          [&] { copy_from_device({}, memory, 64); }},
         {"Pins, none", Expected::usage("Pins: "), [&] { Pins(device(), {}); }},
         {"launch_pinned, no role", Expected::usage("launch_pinned: "),
          [&] { (void)launch_pinned(device(), Pins(0), NothingBody{}); }},
         {"wait_style, empty", Expected::behaves(), [&] { return !wait_style(""); }},
         {"Device::open, empty", Expected::usage("Device::open: "),
          [&] { (void)Device::open(""); }}});
}

// Null pointers that come with a size.
TEST_P(LimitsOfObjectsTest, bytesAtNull) {
    std::span<std::byte> const room(static_cast<std::byte*>(nullptr), 8);
    std::span<std::byte const> const bytes = room;
    Memory const memory = device().allocate(64);
    ChunkRing<int> chunks(device(), {.chunk_bytes = 64, .chunks = 2});
    auto chunk = chunks.claim(patience);
    Ring<Bytes, Direction::to_device> to(device(), 8);
    Ring<Bytes, Direction::to_host> from(device(), 8);
    std::array<std::byte, 8> const value{};
    Mailbox<Bytes, Direction::to_device> limits(device(), value);
    Mailbox<Bytes, Direction::to_host> status(device(), value);
    auto const null = [](std::string const& call) {
        return Expected::usage(call + ": 8 bytes requested at a null pointer");
    };
    try_limits(
        {{"copy_to_device", null("copy_to_device"), [&] { copy_to_device(memory, 0, bytes); }},
         {"copy_to_device, a kind", null("copy_to_device"),
          [&] { copy_to_device(memory, 0, bytes, StoreKind::cached); }},
         {"copy_from_device", null("copy_from_device"), [&] { copy_from_device(room, memory, 0); }},
         {"Chunk::fill", null("Chunk::fill"), [&] { chunk.fill(0, bytes); }},
         {"Chunk::fill, nothing", Expected::behaves(), [&] { chunk.fill(64, {}); }},
         {"Ring::try_push", null("Ring::try_push"), [&] { to.try_push(bytes); }},
         {"Ring::try_push_n", null("Ring::try_push_n"), [&] { to.try_push_n(bytes); }},
         {"Ring::try_push_n, none", Expected::behaves(), [&] { return to.try_push_n({}) == 0; }},
         {"Ring::push", null("Ring::push"), [&] { to.push(bytes, patience); }},
         {"Ring::try_pop", null("Ring::try_pop"), [&] { (void)from.try_pop(room); }},
         {"Ring::try_pop_n", null("Ring::try_pop_n"), [&] { (void)from.try_pop_n(room); }},
         {"Ring::pop", null("Ring::pop"), [&] { from.pop(room, patience); }},
         {"Mailbox", null("Mailbox"),
          [&] { Mailbox<Bytes, Direction::to_device>(device(), bytes); }},
         {"Mailbox::set", null("Mailbox::set"), [&] { limits.set(bytes); }},
         {"Mailbox::refresh", null("Mailbox::refresh"), [&] { (void)status.refresh(room); }}});
}

TEST_P(LimitsOfObjectsTest, ofAnotherDevice) {
    if (on_gpu()) GTEST_SKIP() << "two of one GPU are one device, and there may be no other";
    Device const other = Device::open(GetParam());
    Memory const memory = other.allocate(64);
    auto const channels = std::make_shared<ChannelMemory>(other, 64, 64);
    Memory const locked = device().allocate_host(64);
    std::array<std::byte, 64> bytes{};
    Memory const registered = other.register_host(bytes);
    DeviceReader reader(device());
    DeviceWriter writer(device());
    HostWait const wait;
    auto const others = Expected::usage("another device");
    try_limits(
        {{"Device::access, another's", others, [&] { (void)device().access(memory); }},
         {"Device::access, its own", Expected::behaves(), [&] { (void)other.access(memory); }},
         {"DeviceReader::read, another's", others,
          [&] { (void)reader.read(memory, 0, 8, patience); }},
         {"DeviceWriter::write, to another's", others,
          [&] { writer.write(memory, 0, locked, 0, 8, patience); }},
         {"DeviceWriter::submit, from another's", others,
          [&] { (void)writer.submit(locked, 0, memory, 0, 8, patience); }},
         {"DeviceWriter::write, from what another has registered", others,
          [&] { writer.write(locked, 0, registered, 0, 8, patience); }},
         {"copy_to_device by a writer, another's", others,
          [&] { copy_to_device(memory, 0, locked, 0, 8, writer, patience); }},
         {"Channel, another's", others, [&] { Channel<int, int>(device(), channels, 0, wait); }},
         {"PersistentKernel, another's", others, [&] { Kernel(device(), {.memory = channels}); }},
         {"place_channels, another's", others,
          [&] { (void)place_channels(device(), *channels, 1, {}); }}});
}

}  // namespace
}  // namespace carillon::test
