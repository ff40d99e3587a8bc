// SPDX-License-Identifier: Apache-2.0
// Every index and every range at its limits: the last one, one past the end, the largest number.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "carillon/cores.hpp"
#include "carillon/placement.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "edges/limits.hpp"

namespace carillon::test {

struct TwiceHandler {
    CARILLON_HD std::uint64_t operator()(std::uint64_t const& value) const { return 2 * value; }
};
struct TwiceByCommand : TwiceHandler {
    using Commands = carillon::Commands<std::uint64_t>;
};

namespace {

class LimitsOfRangesTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(LimitsOfRangesTest);

TEST_P(LimitsOfRangesTest, channelsOfAKernel) {
    PersistentKernel<TwiceHandler> kernel(device(), {.blocks = 2, .channels = {.express = true}});
    PersistentKernel<TwiceByCommand> commands(device(), {.blocks = 2});
    auto const usage = Expected::usage("PersistentKernel::");
    std::vector<unsigned> const outside{2, 1U << 31, largest_number};
    auto const channel = [&](auto index) { return kernel.channel(index).call(2, patience) == 4; };
    auto const express = [&](auto index) { return kernel.express(index).call(2, patience) == 4; };
    auto const command = [&](auto index) {
        return commands.channel(index).call(std::uint64_t{2}, patience) == 4;
    };
    auto const block = [&](auto index) { (void)kernel.activity(index); };
    auto const where = [&](auto index) { (void)kernel.sm(index); };
    try_values<unsigned>("channel", Expected::behaves(), {0, 1}, channel);
    try_values("channel", usage, outside, channel);
    try_values<unsigned>("express", Expected::behaves(), {0, 1}, express);
    try_values("express", usage, outside, express);
    try_values<unsigned>("channel, of commands", Expected::behaves(), {0, 1}, command);
    try_values("channel, of commands", usage, outside, command);
    try_values<unsigned>("express, of commands", usage, {0, largest_number},
                         [&](auto index) { (void)commands.express(index); });
    try_values<unsigned>("activity", Expected::behaves(), {0, 1}, block);
    try_values("activity", usage, outside, block);
    try_values<unsigned>("sm", Expected::behaves(), {0, 1}, where);
    try_values("sm", usage, outside, where);
}

TEST_P(LimitsOfRangesTest, channelsOfAMemory) {
    auto const memory = std::make_shared<ChannelMemory>(device(), 3, 4);
    HostWait const wait;
    auto const channel = [&](unsigned index) { Channel<int, int>(device(), memory, index, wait); };
    auto const arrange = [&](std::uint32_t part) {
        std::array const locations{ChannelLocation{part, 0}};
        memory->arrange(locations);
    };
    auto const arrange_host = [&](std::uint32_t part) {
        std::array const locations{ChannelLocation{0, part}};
        memory->arrange(locations);
    };
    auto const usage = Expected::usage("ChannelMemory::arrange: part ");
    try_values<unsigned>("Channel, index", Expected::behaves(), {0, 2}, channel);
    try_values<unsigned>("Channel, index", Expected::usage("Channel: there is no channel "),
                         {3, largest_number}, channel);
    try_values<std::uint32_t>("ChannelMemory::arrange", Expected::behaves(), {0, 2}, arrange);
    try_values<std::uint32_t>("ChannelMemory::arrange", usage, {3, largest_number}, arrange);
    try_values<std::uint32_t>("ChannelMemory::arrange, host", usage, {3, largest_number},
                              arrange_host);
    std::vector<ChannelLocation> const twice{{1, 0}, {1, 1}};
    try_limits(
        {{"ChannelMemory::arrange, twice", usage, [&] { memory->arrange(twice); }},
         {"ChannelMemory::arrange, none", Expected::behaves(), [&] { memory->arrange({}); }}});
}

TEST_P(LimitsOfRangesTest, rangesOfAMemory) {
    Memory const memory = device().allocate(4096);
    std::array<std::byte, 2> bytes{};
    auto const flush = Expected::usage("Memory::flush: ");
    auto const invalidate = Expected::usage("Memory::invalidate: ");
    auto const to = Expected::usage("copy_to_device: ");
    auto const from = Expected::usage("copy_from_device: ");
    for (std::size_t const offset : {std::size_t{4095}, std::size_t{4097}, largest - 1, largest}) {
        try_limits({{"flush, 2 bytes", flush, [&] { memory.flush(offset, 2); }},
                    {"flush, most bytes", flush, [&] { memory.flush(offset, largest); }},
                    {"invalidate, 2 bytes", invalidate, [&] { memory.invalidate(offset, 2); }},
                    {"copy_to_device", to, [&] { copy_to_device(memory, offset, bytes); }},
                    {"copy_from_device", from, [&] { copy_from_device(bytes, memory, offset); }}});
    }
    try_limits({{"flush, all", Expected::behaves(), [&] { memory.flush(0, 4096); }},
                {"flush, the end", Expected::behaves(), [&] { memory.flush(4096, 0); }},
                {"invalidate, the last", Expected::behaves(), [&] { memory.invalidate(4095, 1); }},
                {"copy_to_device, the last", Expected::behaves(),
                 [&] { copy_to_device(memory, 4094, bytes); }},
                {"copy_from_device, the last", Expected::behaves(),
                 [&] { copy_from_device(bytes, memory, 4094); }}});
}

TEST_P(LimitsOfRangesTest, rangesOfReads) {
    Memory const memory = device().allocate(4096);
    DeviceReader reader(device(), {.largest = 1024});
    auto const read = [&](std::size_t offset, std::size_t size) {
        return reader.read(memory, offset, size, patience).size() == size;
    };
    auto const usage = Expected::usage("DeviceReader::read: ");
    try_limits({{"read, nothing", Expected::behaves(), [&] { return read(4096, 0); }},
                {"read, the last byte", Expected::behaves(), [&] { return read(4095, 1); }},
                {"read, the largest", Expected::behaves(), [&] { return read(3072, 1024); }},
                {"read, more than the largest", usage, [&] { return read(0, 1025); }},
                {"read, past the end", usage, [&] { return read(4095, 2); }},
                {"read, from past the end", usage, [&] { return read(4097, 0); }},
                {"read, most bytes", usage, [&] { return read(1, largest); }},
                {"read, from the largest offset", usage, [&] { return read(largest, 1); }},
                {"read at an address, most bytes", usage,
                 [&] { (void)reader.read(memory.device_ptr(), largest, patience); }}});
}

TEST_P(LimitsOfRangesTest, rangesOfWrites) {
    Memory const to = device().allocate(4096);
    Memory const from = device().allocate_host(4096);
    std::array<std::byte, 2> const bytes{};
    std::array<std::byte, 100> own{};
    Memory const registered = device().register_host(own);
    DeviceWriter writer(device(), {.threads = 64});
    auto const write = [&](std::size_t offset, std::size_t from_offset, std::size_t size) {
        writer.write(to, offset, from, from_offset, size, patience);
    };
    auto const usage = Expected::usage("DeviceWriter::write: ");
    try_limits({{"write, nothing", Expected::behaves(), [&] { write(4096, 4096, 0); }},
                {"write, the last byte", Expected::behaves(), [&] { write(4095, 4095, 1); }},
                {"write, all", Expected::behaves(), [&] { write(0, 0, 4096); }},
                {"write, past the end", usage, [&] { write(4095, 0, 2); }},
                {"write, from past the end", usage, [&] { write(0, 4095, 2); }},
                {"write, nothing past the end", usage, [&] { write(4097, 0, 0); }},
                {"write, most bytes", usage, [&] { write(1, 1, largest); }},
                {"write, to the largest offset", usage, [&] { write(largest, 0, 1); }},
                {"write, from the largest offset", usage, [&] { write(0, largest, 1); }},
                {"write, from registered memory, the last byte", Expected::behaves(),
                 [&] { writer.write(to, 0, registered, 99, 1, patience); }},
                {"write, from registered memory, past the end", usage,
                 [&] { writer.write(to, 0, registered, 99, 2, patience); }},
                {"write, of any memory, past the end", usage,
                 [&] { writer.write(to, 4095, bytes, patience); }},
                {"write at an address, most bytes", usage,
                 [&] { writer.write(to.device_ptr(), from.device_ptr(), largest, patience); }}});
}

TEST_P(LimitsOfRangesTest, rangesOfChunks) {
    ChunkRing<> ring(device(), {.chunk_bytes = 100, .chunks = 4});
    auto chunk = ring.claim(patience);
    std::array<std::byte, 2> const bytes{};
    auto const fill = [&](std::size_t offset) { chunk.fill(offset, bytes); };
    try_values<std::size_t>("Chunk::fill", Expected::behaves(), {0, 98}, fill);
    try_values<std::size_t>("Chunk::fill", Expected::usage("Chunk::fill: "),
                            {99, 101, largest - 1, largest}, fill);
    try_values<std::size_t>("Chunk::commit", Expected::usage("Chunk::commit: "),
                            {101, std::size_t{1} << 32, largest},
                            [&](std::size_t used) { chunk.commit(used); });
    try_limits(
        {{"Chunk::fill, nothing", Expected::behaves(), [&] { chunk.fill(100, {}); }},
         {"Chunk::commit, all", Expected::behaves(), [&] { chunk.commit(100); }},
         {"Chunk::commit, none", Expected::behaves(), [&] { ring.claim(patience).commit(0); }}});
}

TEST_P(LimitsOfRangesTest, batches) {
    MpmcRing<int, Direction::to_device> const shared(device(), {.capacity = 4, .stripe = 1});
    auto producer = shared.producer();
    Ring<int, Direction::to_device> to(device(), {.capacity = 4});
    Ring<int, Direction::to_host> from(device(), {.capacity = 4});
    std::vector<int> many(100, 1);
    try_limits(
        {{"MpmcRing::try_push_n, none", Expected::behaves(),
          [&] { return producer.try_push_n({}) == 0; }},
         {"MpmcRing::try_push_n, more than fit", Expected::behaves(),
          [&] { return producer.try_push_n(many) == 4; }},
         {"Ring::try_push_n, none", Expected::behaves(), [&] { return to.try_push_n({}) == 0; }},
         {"Ring::try_push_n, more than fit", Expected::behaves(),
          [&] { return to.try_push_n(many) == 4; }},
         {"Ring::try_pop_n, empty", Expected::behaves(),
          [&] { return from.try_pop_n(many) == 0; }}});
}

TEST_P(LimitsOfRangesTest, placesAndCores) {
    ChannelMemory candidates(device(), 2, 64);
    auto const location = [&](unsigned blocks) {
        (void)place_channels(device(), candidates, blocks, {});
    };
    auto const tuned = [&](TuneOptions const& options) { (void)tune(device(), options); };
    auto const usage = Expected::usage("tune: ");
    try_values<unsigned>("place_channels, blocks", Expected::usage("place_channels: "),
                         {0, 3, largest_number}, location);
    try_values<unsigned>("tune, seconds", usage, {0, 86'401, largest_number},
                         [&](auto seconds) { tuned({.seconds = seconds}); });
    try_values<unsigned>("tune, rounds", usage, {0, 10'001, largest_number},
                         [&](auto rounds) { tuned({.rounds = rounds}); });
    try_values<unsigned>("OnCore", Expected::refused(), {CPU_SETSIZE, largest_number},
                         [](unsigned core) { OnCore const here(core); });
}

}  // namespace
}  // namespace carillon::test
