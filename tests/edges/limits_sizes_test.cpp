// SPDX-License-Identifier: Apache-2.0
// Every size and every number of things at its limits. A size that cannot be had is refused before
// any memory is taken, so that the tests need little.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "edges/limits.hpp"

namespace carillon::test {
using namespace detail;

namespace {

constexpr std::size_t addressable = PTRDIFF_MAX;

class LimitsOfSizesTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(LimitsOfSizesTest);

TEST_P(LimitsOfSizesTest, memory) {
    auto const device_memory = [&](std::size_t size) {
        return device().allocate(size).size() == size;
    };
    auto const host_memory = [&](std::size_t size) {
        return device().allocate_host(size).size() == size;
    };
    auto const shared_memory = [&](std::size_t size) {
        return device().allocate_shared_host(size).size() == size;
    };
    auto const too_much = Expected::out_of_memory(" bytes");
    std::vector<std::size_t> const impossible{addressable - 1, addressable, addressable + 1,
                                              largest - 1, largest};
    try_limits(
        {{"Device::allocate, 0", Expected::usage("Device::allocate: "),
          [&] { return device_memory(0); }},
         {"Device::allocate_host, 0", Expected::usage("Device::allocate_host: "),
          [&] { return host_memory(0); }},
         {"Device::allocate_shared_host, 0", Expected::usage("Device::allocate_shared_host: "),
          [&] { return shared_memory(0); }}});
    try_values<std::size_t>("Device::allocate", Expected::behaves(), {1, 4097}, device_memory);
    try_values<std::size_t>("Device::allocate_host", Expected::behaves(), {1, 4097}, host_memory);
    try_values<std::size_t>("Device::allocate_shared_host", Expected::behaves(), {1, 4097},
                            shared_memory);
    try_values("Device::allocate", too_much, impossible, device_memory);
    try_values("Device::allocate_host", too_much, impossible, host_memory);
    try_values("Device::allocate_shared_host", Expected::out_of_memory("allocate_shared_host: "),
               impossible, shared_memory);
}

TEST_P(LimitsOfSizesTest, registeredMemory) {
    std::vector<std::byte> bytes(10'000);
    auto const own = [&](std::size_t size) {
        return device().register_host({bytes.data(), size}).size() == size;
    };
    try_limit({"Device::register_host, 0", Expected::usage("Device::register_host: "),
               [&] { return own(0); }});
    try_values<std::size_t>("Device::register_host", Expected::behaves(), {1, 4097, 10'000}, own);
    try_values<std::size_t>(
        "Device::register_host", Expected::out_of_memory("Device::register_host: "),
        {addressable - 1, addressable, addressable + 1, largest - 1, largest}, own);
}

TEST_P(LimitsOfSizesTest, arenas) {
    auto const make = [&](std::size_t size) { return Arena(device(), size).capacity() >= size; };
    Arena const arena(device(), 8192);
    auto const take = [&](std::size_t size) { return arena.allocate(size).size() == size; };
    auto const align = [&](std::size_t to) {
        return reinterpret_cast<std::uintptr_t>(arena.allocate(1, to).device_ptr()) % to == 0;
    };
    try_limit({"Arena, 0", Expected::usage("0 bytes"), [&] { return make(0); }});
    try_values<std::size_t>("Arena", Expected::behaves(), {1, 255, 257}, make);
    try_values<std::size_t>("Arena", Expected::out_of_memory(" bytes"),
                            {addressable, largest - 255, largest}, make);
    try_limit(
        {"Arena::allocate, 0", Expected::usage("Arena::allocate: "), [&] { return take(0); }});
    try_values<std::size_t>("Arena::allocate", Expected::behaves(), {1, 257, 8192}, take);
    try_values<std::size_t>("Arena::allocate", Expected::out_of_memory("Arena::allocate: "),
                            {8193, addressable, largest}, take);
    try_values<std::size_t>("Arena::allocate, alignment", Expected::behaves(), {1, 4096}, align);
    try_values<std::size_t>("Arena::allocate, alignment", Expected::usage("an alignment of "),
                            {0, 3, 8192, addressable + 1, largest}, align);
}

// Tries the capacities of an object that has slots.
template <class Make>
void try_capacity(std::string const& what, Make const& make) {
    try_values<std::uint32_t>(what + ", capacity", Expected::usage("a capacity of "),
                              {0, 1, 3, (1U << 20) + 1, 1U << 21, 1U << 24, largest_number}, make);
    try_limit({what + ", capacity, 64", Expected::behaves(), [&] { return make(64U); }});
}
// Tries the numbers of the first message.
template <class Make>
void try_first(std::string const& what, Make const& make) {
    try_values<Sequence>(what + ", first", Expected::usage("a first number of "),
                         {0, (Sequence{1} << 63) + 1, most<Sequence>}, make);
    try_values<Sequence>(what + ", first", Expected::behaves(),
                         {1, (Sequence{1} << 32) - 31, (Sequence{1} << 63) - 31}, make);
}

TEST_P(LimitsOfSizesTest, rings) {
    using In = Ring<int, Direction::to_device>;
    using Out = Ring<int, Direction::to_host>;
    using Shared = MpmcRing<int, Direction::to_device>;
    using MpmcOut = MpmcRing<int, Direction::to_host>;
    using Box = Mailbox<int, Direction::to_device>;
    try_capacity("Ring", [&](auto slots) { return In(device(), {.capacity = slots}).try_push(1); });
    try_first("Ring", [&](auto first) {
        return In(device(), {.for_tests = {.first = first}}).try_push(1);
    });
    try_first("Ring to the host", [&](auto first) {
        return !Out(device(), {.for_tests = {.first = first}}).try_pop();
    });
    try_capacity("Channel", [&](auto slots) { Channel<int, int>(device(), slots); });
    try_capacity("MpmcRing", [&](auto slots) {
        return Shared(device(), {.capacity = slots}).producer().try_push(1);
    });
    try_first("MpmcRing", [&](auto first) {
        return Shared(device(), {.stripe = 1, .for_tests = {.first = first}})
            .producer()
            .try_push(1);
    });
    try_capacity("MpmcRing to the host",
                 [&](auto slots) { (void)MpmcOut(device(), {.capacity = slots}).consumer(); });
    try_capacity("Mailbox", [&](auto slots) { Box(device(), 1, {.capacity = slots}).set(2); });
    try_first("Mailbox",
              [&](auto first) { Box(device(), 1, {.for_tests = {.first = first}}).set(2); });
}

TEST_P(LimitsOfSizesTest, mpmcRings) {
    using Shared = MpmcRing<int, Direction::to_device>;
    auto const stripe = [&](std::uint32_t each) {
        Shared(device(), {.capacity = 64, .stripe = each});
    };
    auto const producers = [&](unsigned count) {
        return Shared(device(), {.producers = count}).producer().try_push(1);
    };
    try_values<std::uint32_t>("MpmcRing, stripe", Expected::behaves(), {1, 32}, stripe);
    try_values<std::uint32_t>("MpmcRing, stripe", Expected::usage("MpmcRing: a stripe of "),
                              {0, 3, 64, 1U << 31, largest_number}, stripe);
    try_values<unsigned>("MpmcRing, producers", Expected::behaves(), {1, 3}, producers);
    try_values<unsigned>("MpmcRing, producers", Expected::usage("MpmcRing: "),
                         {0, (1U << 22) + 1, 1U << 31, largest_number}, producers);
}

TEST_P(LimitsOfSizesTest, chunkRings) {
    auto const bytes = [&](std::size_t each) {
        return ChunkRing<>(device(), {.chunk_bytes = each, .chunks = 2})
                   .try_claim()
                   ->bytes()
                   .size() == each;
    };
    try_values<std::size_t>("ChunkRing, chunk_bytes", Expected::behaves(), {1, 257}, bytes);
    try_values<std::size_t>("ChunkRing, chunk_bytes", Expected::usage("ChunkRing: chunks of "),
                            {0, std::size_t{1} << 32, addressable, largest}, bytes);
    try_capacity("ChunkRing", [&](auto chunks) {
        ChunkRing<>(device(), {.chunk_bytes = 64, .chunks = chunks});
    });
    try_first("ChunkRing", [&](auto first) {
        return ChunkRing<>(device(), {.chunk_bytes = 64, .for_tests = {.first = first}})
            .try_claim()
            .has_value();
    });
    try_limit({"ChunkRing, most bytes of all", Expected::out_of_memory(" bytes"), [&] {
                   ChunkRing<>(device(), {.chunk_bytes = largest_number, .chunks = 1U << 20});
               }});
}

TEST_P(LimitsOfSizesTest, channelMemory) {
    auto const make = [&](unsigned channels, std::uint32_t slots) {
        return ChannelMemory(device(), channels, slots).channels() == channels;
    };
    try_capacity("ChannelMemory", [&](auto slots) { return make(1, slots); });
    try_first("ChannelMemory", [&](auto first) { ChannelMemory(device(), 1, 4, first); });
    try_limits({{"ChannelMemory, channels, 0", Expected::usage("ChannelMemory: "),
                 [&] { return make(0, 4); }},
                {"ChannelMemory, channels, 3", Expected::behaves(), [&] { return make(3, 4); }},
                {"ChannelMemory, channels, max", Expected::out_of_memory(" bytes"),
                 [&] { return make(largest_number, 1U << 20); }}});
}

TEST_P(LimitsOfSizesTest, kernels) {
    using Kernel = PersistentKernel<GatedHandler>;
    auto const answers = [&](KernelOptions const& options) {
        return Kernel(device(), options).channel().call({1, 0}, patience).value == 4;
    };
    try_values<unsigned>("PersistentKernel, blocks", Expected::behaves(), {1, 3},
                         [&](auto blocks) { return answers({.blocks = blocks}); });
    try_values<unsigned>("PersistentKernel, blocks", Expected::refused(),
                         {0, (1U << 31) - 1, 1U << 31, largest_number}, [&](auto blocks) {
                             return answers({.blocks = blocks, .capacity = 1U << 20});
                         });
    auto const watches = [&](unsigned each, unsigned blocks = 1) {
        PersistentKernel<GatedHandler, WatchedChannels> kernel(
            device(), {.blocks = blocks, .watched = {each}});
        return kernel.channel(each - 1).call({1, 0}, patience).value == 4;
    };
    try_values<unsigned>("WatchedChannels, per_block", Expected::behaves(), {2, 3, 64},
                         [&](auto each) { return watches(each); });
    try_values<unsigned>("WatchedChannels, per_block", Expected::usage("PersistentKernel: "),
                         {0, 1, 65, 1U << 31, largest_number},
                         [&](auto each) { return watches(each); });
    try_limit({"WatchedChannels, blocks times channels",
               Expected::usage("PersistentKernel: 67108864 blocks are too many"),
               [&] { return watches(64, 1U << 26); }});
    try_capacity("PersistentKernel", [&](auto slots) { return answers({.capacity = slots}); });
    try_limit({"PersistentKernel, express", Expected::behaves(), [&] {
                   Kernel kernel(device(), {.channels = {.express = true}});
                   return kernel.express().call({1, 0}, patience).value == 4;
               }});
}

TEST_P(LimitsOfSizesTest, pools) {
    auto const answers = [&](KernelOptions const& options) {
        PersistentKernel<GatedHandler, Pool> const kernel(device(), options);
        return kernel.client().call({1, 0}, patience).value == 4;
    };
    auto const sizes = [&](unsigned clients, std::uint32_t replies) {
        return answers({.pool = {.clients = clients, .replies = replies}});
    };
    try_limits(
        {{"Pool, 1 client, 1 reply", Expected::behaves(), [&] { return sizes(1, 1); }},
         {"Pool, 3 clients, 5 replies", Expected::behaves(), [&] { return sizes(3, 5); }},
         {"Pool, 2^32 replies", Expected::usage("PersistentKernel: 4294967296 reply slots"),
          [&] { return sizes(1U << 16, 1U << 16); }},
         {"Pool, 2^32 + 2^16 replies", Expected::usage("PersistentKernel: 4295032832 reply slots"),
          [&] { return sizes(1U << 16, (1U << 16) + 1); }}});
    try_values<unsigned>("Pool, clients", Expected::usage("PersistentKernel: "),
                         {0, (1U << 22) + 1, 1U << 31, largest_number},
                         [&](auto clients) { return sizes(clients, 1); });
    try_values<std::uint32_t>("Pool, replies", Expected::usage("PersistentKernel: "),
                              {0, (1U << 24) + 1, 1U << 31, largest_number},
                              [&](auto replies) { return sizes(1, replies); });
    try_values<std::uint32_t>(
        "Pool, stripe", Expected::usage("PersistentKernel: "), {0, 3, 64, 1U << 31, largest_number},
        [&](auto stripe) { return answers({.capacity = 64, .pool = {.stripe = stripe}}); });
    try_values<std::uint32_t>(
        "Pool of one block, stripe", Expected::usage("PersistentKernel: a stripe of "), {0, 3, 64},
        [&](auto stripe) {
            return answers({.blocks = 1, .capacity = 64, .pool = {.stripe = stripe}});
        });
    try_values<unsigned>("Pool, blocks", Expected::usage("PersistentKernel: "),
                         {257, 1U << 31, largest_number},
                         [&](auto blocks) { return answers({.blocks = blocks}); });
    try_capacity("PersistentKernel", [&](auto slots) { return answers({.capacity = slots}); });
}

TEST_P(LimitsOfSizesTest, readers) {
    auto const reads = [&](DeviceReaderOptions const& options) {
        Memory const memory = device().allocate(64);
        return DeviceReader(device(), options).read(memory, 3, 1, patience).size() == 1;
    };
    auto const of_largest = [&](std::size_t bytes) { return reads({.largest = bytes}); };
    auto const of_blocks = [&](unsigned blocks) { return reads({.blocks = blocks}); };
    auto const of_threads = [&](unsigned threads) { return reads({.threads = threads}); };
    try_limit({"DeviceReader, largest, 0", Expected::usage("DeviceReader: "),
               [&] { return of_largest(0); }});
    try_values<std::size_t>("DeviceReader, largest", Expected::behaves(), {1, 12345}, of_largest);
    try_values<std::size_t>("DeviceReader, largest", Expected::out_of_memory(" bytes"),
                            {addressable - 16, addressable, largest - 16, largest - 15, largest},
                            of_largest);
    try_values<unsigned>("DeviceReader, blocks", Expected::behaves(), {1, 3}, of_blocks);
    try_values<unsigned>("DeviceReader, blocks", Expected::refused(), {0, 1U << 31, largest_number},
                         of_blocks);
    try_values<unsigned>("DeviceReader, threads", Expected::behaves(), {32, 1024}, of_threads);
    try_values<unsigned>("DeviceReader, threads", Expected::usage("DeviceReader: "),
                         {0, 1, 33, 1056, 1U << 31, largest_number}, of_threads);
}

TEST_P(LimitsOfSizesTest, writers) {
    auto const writes = [&](DeviceWriterOptions const& options) {
        Memory const memory = device().allocate(64);
        std::array<std::byte, 2> const bytes{};
        DeviceWriter(device(), options).write(memory, 3, bytes, patience);
    };
    auto const of_chunk = [&](std::size_t bytes) { writes({.chunk = bytes}); };
    auto const of_chunks = [&](unsigned chunks) { writes({.chunks = chunks}); };
    auto const of_blocks = [&](unsigned blocks) { writes({.blocks = blocks, .threads = 32}); };
    auto const of_threads = [&](unsigned threads) { writes({.threads = threads}); };
    try_limit({"DeviceWriter, chunk, 0", Expected::usage("DeviceWriter: "), [&] { of_chunk(0); }});
    try_values<std::size_t>("DeviceWriter, chunk", Expected::behaves(), {1, 12345}, of_chunk);
    try_values<std::size_t>("DeviceWriter, chunk", Expected::out_of_memory(" bytes"),
                            {addressable / 8, addressable - 16, addressable, largest - 16, largest},
                            of_chunk);
    try_values<unsigned>("DeviceWriter, chunks", Expected::behaves(), {1, 100}, of_chunks);
    try_values<unsigned>("DeviceWriter, chunks", Expected::usage("DeviceWriter: "), {0}, of_chunks);
    try_values<unsigned>("DeviceWriter, chunks", Expected::out_of_memory(" bytes"),
                         {largest_number}, of_chunks);
    try_values<unsigned>("DeviceWriter, blocks", Expected::behaves(), {1, 3}, of_blocks);
    try_values<unsigned>("DeviceWriter, blocks", Expected::refused(), {0, 1U << 31, largest_number},
                         of_blocks);
    try_values<unsigned>("DeviceWriter, threads", Expected::behaves(), {32, 512}, of_threads);
    try_values<unsigned>("DeviceWriter, threads", Expected::usage("DeviceWriter: "),
                         {0, 1, 33, 544, 1024, largest_number}, of_threads);
}

TEST_P(LimitsOfSizesTest, services) {
    using Service = HostService<int, int>;
    auto const make = [&](HostServiceOptions const& options) {
        Service(
            device(), [](int value) { return value; }, options)
            .flush(patience);
    };
    try_values<std::uint32_t>("HostService, callers", Expected::behaves(), {1, 3},
                              [&](auto callers) { make({.callers = callers}); });
    try_values<std::uint32_t>("HostService, callers", Expected::usage("HostService: "),
                              {0, (1U << 24) + 1, largest_number},
                              [&](auto callers) { make({.callers = callers}); });
    try_capacity("HostService", [&](auto slots) { make({.capacity = slots}); });
    try_capacity("LogService",
                 [&](auto slots) { LogService(device(), {.capacity = slots}).flush(patience); });
    try_values<std::uint32_t>("HostService, capacity",
                              Expected::usage("HostService: a capacity of "), {2, 16},
                              [&](auto slots) { make({.capacity = slots}); });
    try_values<Sequence>("HostService, first", Expected::usage("number"),
                         {0, 2, (Sequence{1} << 63) + 1, most<Sequence>},
                         [&](auto first) { make({.for_tests = {.first = first}}); });
}

TEST_P(LimitsOfSizesTest, launches) {
    auto const ends = [&](LaunchShape const& shape) {
        return launch(device(), shape, NothingBody{}).wait(patience);
    };
    auto const usage = Expected::usage("launch: ");
    try_values<unsigned>("launch, blocks", Expected::behaves(), {1, 3},
                         [&](auto blocks) { return ends({.blocks = blocks}); });
    try_limit({"launch, blocks, 0", usage, [&] { return ends({.blocks = 0}); }});
    try_values<unsigned>("launch, blocks", Expected::error<ResidencyError>("blocks"),
                         {1U << 31, largest_number},
                         [&](auto blocks) { return ends({.blocks = blocks}); });
    try_values<unsigned>("launch, threads", Expected::behaves(), {1, 33, 1024},
                         [&](auto threads) { return ends({.threads = threads}); });
    try_values<unsigned>("launch, threads", usage, {0, 1025, 1U << 31, largest_number},
                         [&](auto threads) { return ends({.threads = threads}); });
    try_values<unsigned>("launch, lasting", Expected::behaves(), {0, 1, 2},
                         [&](auto lasting) { return ends({.blocks = 2, .lasting = lasting}); });
    try_values<unsigned>("launch, lasting", usage, {3, largest_number},
                         [&](auto lasting) { return ends({.blocks = 2, .lasting = lasting}); });
}

}  // namespace
}  // namespace carillon::test
