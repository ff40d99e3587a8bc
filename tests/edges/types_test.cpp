// SPDX-License-Identifier: Apache-2.0
// The table of docs/threads.md says which types can be copied and moved. The compiler checks it,
// and a test checks that it has every type of this list.
#include <fstream>
#include <sstream>
#include <string>
#include <type_traits>

#include "carillon/cores.hpp"
#include "device/device_fixture.hpp"

namespace carillon::test {
namespace {

struct Twice {
    CARILLON_HD int operator()(int const& value) const { return 2 * value; }
};

using Pooled = PersistentKernel<Twice, Pool>;

// The table's word for a type.
template <class T>
constexpr char const* kind() {
    if (std::is_trivially_copyable_v<T>) return "copied, to kernels too";
    if (std::is_copy_constructible_v<T>) return "copied";
    if (std::is_move_assignable_v<T>) return "moved";
    if (std::is_move_constructible_v<T>) return "moved, not assigned";
    return "neither";
}

struct Row {
    char const* type;
    char const* kind;
};

constexpr auto to_device = Direction::to_device;
constexpr auto to_host = Direction::to_host;

Row const rows[] = {
    {"Device", kind<Device>()},
    {"Memory", kind<Memory>()},
    {"Arena", kind<Arena>()},
    {"ArenaPiece", kind<ArenaPiece>()},
    {"FileDescriptor", kind<FileDescriptor>()},
    {"PersistentKernel", kind<PersistentKernel<Twice>>()},
    {"PersistentKernel<Handler, Pool>", kind<Pooled>()},
    {"PersistentKernel<Handler, SharedPool>", kind<PersistentKernel<Twice, SharedPool>>()},
    {"PersistentKernel<Handler, SharedChannels>", kind<PersistentKernel<Twice, SharedChannels>>()},
    {"Server", kind<Server>()},
    {"Connection", kind<Connection>()},
    {"Store", kind<Store>()},
    {"Buffer", kind<Buffer>()},
    {"HostMirror", kind<HostMirror>()},
    {"SealedEvents", kind<SealedEvents>()},
    {"SealedBuffers", kind<SealedBuffers>()},
    {"RunningKernel", kind<RunningKernel>()},
    {"Channel", kind<Channel<int, int>>()},
    {"PersistentKernel::Client", kind<PersistentKernel<Twice>::Client>()},
    {"PersistentKernel<Handler, Pool>::Client", kind<Pooled::Client>()},
    {"Ticket", kind<Ticket>()},
    {"Tickets", kind<Tickets>()},
    {"CommandTicket", kind<CommandTicket<int>>()},
    {"Ring", kind<Ring<int, to_device>>()},
    {"SharedMailbox", kind<SharedMailbox<int>>()},
    {"SharedRing", kind<SharedRing<int, to_device>>()},
    {"SharedChunkRing", kind<SharedChunkRing<>>()},
    {"MpmcRing", kind<MpmcRing<int, to_device>>()},
    {"HostMpmcProducer", kind<HostMpmcProducer<int>>()},
    {"HostMpmcConsumer", kind<HostMpmcConsumer<int>>()},
    {"ChunkRing", kind<ChunkRing<>>()},
    {"Chunk", kind<Chunk<NoMeta>>()},
    {"Flag", kind<Flag<int, to_host>>()},
    {"Doorbell", kind<Doorbell<to_device>>()},
    {"Mailbox", kind<Mailbox<int, to_device>>()},
    {"HostService", kind<HostService<int, int>>()},
    {"LogService", kind<LogService>()},
    {"LogReader", kind<LogReader>()},
    {"DeviceReader", kind<DeviceReader>()},
    {"DeviceWriter", kind<DeviceWriter>()},
    {"ChannelMemory", kind<ChannelMemory>()},
    {"Pins", kind<Pins>()},
    {"OnCore", kind<OnCore>()},
    {"Guard", kind<Guard>()},
    {"DeviceConsumer", kind<DeviceConsumer<int>>()},
    {"DeviceProducer", kind<DeviceProducer<int>>()},
    {"DeviceChannel", kind<DeviceChannel<int, int>>()},
    {"DeviceMpmcConsumer", kind<DeviceMpmcConsumer<int>>()},
    {"BlockChunkReader", kind<BlockChunkReader<NoMeta>>()},
    {"HostCaller", kind<HostCaller<int, int>>()},
    {"DeviceLog", kind<DeviceLog>()},
    {"HostWait", kind<HostWait>()},
};

// A copy of a channel numbered its requests apart from the original; one of an end, its messages.
static_assert(!std::is_copy_constructible_v<Channel<int, int>>);
static_assert(!std::is_move_constructible_v<Channel<int, int>>);
static_assert(!std::is_copy_constructible_v<Ring<int, to_host>>);
static_assert(!std::is_move_constructible_v<Ring<int, to_host>>);
static_assert(!std::is_copy_constructible_v<Pooled::Client>);
static_assert(!std::is_copy_constructible_v<PersistentKernel<Twice>>);
static_assert(!std::is_copy_constructible_v<HostMpmcProducer<int>>);
static_assert(!std::is_copy_constructible_v<HostMpmcConsumer<int>>);

TEST(TypesTest, tableSaysWhatCanBeCopiedAndMoved) {
    std::ifstream file(CARILLON_DOCS "/threads.md");
    std::stringstream text;
    text << file.rdbuf();
    for (Row const& row : rows) {
        std::string const line = "| `" + std::string(row.type) + "` | " + row.kind + " |";
        EXPECT_NE(text.str().find(line), std::string::npos) << line;
    }
}

}  // namespace
}  // namespace carillon::test
