// SPDX-License-Identifier: Apache-2.0
// Memory of one process that another one maps, without CUDA.
#include "vulkan/foreign_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>

#include "carillon/detail/host/door.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "os/unix_socket.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using detail::ForeignMemory;
using detail::UnixSocket;

// Memory of a device, and its properties for a process that gets its descriptor.
struct Exported {
    char const* name;
    char const* selector;
    MemorySource source;
    Memory (Device::*allocate)(std::size_t) const;
    std::size_t size = 10'000;

    [[nodiscard]] Memory make(Device const& device) const { return (device.*allocate)(size); }
    [[nodiscard]] ForeignMemory map(FileDescriptor fd) const { return map(std::move(fd), size); }
    [[nodiscard]] ForeignMemory map(FileDescriptor fd, std::size_t announced) const {
        return detail::in_call("connect",
                               [&] { return ForeignMemory(std::move(fd), announced, source, {}); });
    }
};

void PrintTo(Exported const& of, std::ostream* to) { *to << of.name; }

constexpr Exported exported[] = {
    {"memfd", "emulated", MemorySource::memfd, &Device::allocate},
    {"host", "emulated", MemorySource::host, &Device::allocate_shared_host},
    {"vulkan", "emulated:vulkan", MemorySource::vulkan, &Device::allocate},
};

std::optional<Device> open_or_skip(char const* selector) {
    try {
        return Device::open(selector);
    } catch (UnsupportedError const& error) {  // no lavapipe
        (void)std::fprintf(stderr, "%s\n", error.what());
        return {};
    }
}

char* at(void* memory, std::size_t offset) { return static_cast<char*>(memory) + offset; }

class ForeignMemoryTest : public testing::TestWithParam<Exported> {
   protected:
    void SetUp() override {
        device_ = open_or_skip(GetParam().selector);
        if (!device_) GTEST_SKIP() << "no Vulkan driver that runs on the CPU";
    }
    [[nodiscard]] Device const& device() const { return *device_; }

   private:
    std::optional<Device> device_;
};
auto const exported_name = [](auto const& of) { return std::string(of.param.name); };
INSTANTIATE_TEST_SUITE_P(Of, ForeignMemoryTest, testing::ValuesIn(exported), exported_name);

TEST_P(ForeignMemoryTest, hasTheSameBytesAtAnAddressOfItsOwn) {
    Memory const memory = GetParam().make(device());
    ForeignMemory const foreign = GetParam().map(memory.export_fd());
    EXPECT_EQ(foreign.size(), memory.size());
    EXPECT_NE(foreign.host_ptr(), memory.host_ptr());
    EXPECT_EQ(foreign.range_sync() == nullptr, memory.coherent());
    std::strcpy(at(memory.host_ptr(), 9990), "from P");
    EXPECT_STREQ(at(foreign.host_ptr(), 9990), "from P");
    std::strcpy(at(foreign.host_ptr(), 0), "from C");
    EXPECT_STREQ(at(memory.host_ptr(), 0), "from C");
}

TEST_P(ForeignMemoryTest, outlivesTheMemoryThatItIsOf) {
    std::optional<Memory> memory = GetParam().make(device());
    std::strcpy(at(memory->host_ptr(), 77), "still here");
    ForeignMemory const foreign = GetParam().map(memory->export_fd());
    memory.reset();
    EXPECT_STREQ(at(foreign.host_ptr(), 77), "still here");
}

TEST_P(ForeignMemoryTest, moveHandsItOverAndTheEndLeavesNothingBehind) {
    Memory const memory = GetParam().make(device());
    Held const before = Held::now();
    {
        ForeignMemory first = GetParam().map(memory.export_fd());
        Held const mapped = Held::now();
        EXPECT_GT(mapped.mappings, before.mappings);
        void* const where = first.host_ptr();
        ForeignMemory second = std::move(first);
        EXPECT_EQ(second.host_ptr(), where);
        EXPECT_EQ(first.host_ptr(), nullptr);  // NOLINT(bugprone-use-after-move): what it leaves
        EXPECT_EQ(first.size(), 0U);
        EXPECT_EQ(first.range_sync(), nullptr);
        first = GetParam().map(memory.export_fd());
        first = std::move(second);
        EXPECT_EQ(first.host_ptr(), where);
        EXPECT_EQ(Held::now(), mapped);
    }
    EXPECT_EQ(Held::now(), before);
}

TEST_P(ForeignMemoryTest, aHundredComeAndGoAndLeaveNothingBehind) {
    Memory const memory = GetParam().make(device());
    Held const before = Held::now();
    for (int i = 0; i < 100; ++i) {
        ForeignMemory const foreign = GetParam().map(memory.export_fd());
        ASSERT_NE(foreign.host_ptr(), nullptr);
    }
    EXPECT_EQ(Held::now(), before);
}

FileDescriptor unsealed_memfd() {
    FileDescriptor file(::memfd_create("test", MFD_CLOEXEC));
    EXPECT_EQ(::ftruncate(file.get(), 1 << 20), 0);
    return file;
}

FileDescriptor end_of_pipe(std::size_t which) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    FileDescriptor const other(ends.at(1 - which));
    return FileDescriptor(ends.at(which));
}

// The text of an error of these types; anything else fails the test.
template <class... Types, class Call>
std::string text_of_any(Call&& call) {
    try {
        call();
        ADD_FAILURE() << "nothing was thrown";
    } catch (Error const& error) {
        EXPECT_TRUE((... || (typeid(error) == typeid(Types)))) << error.what();
        return error.what();
    }
    return {};
}

// Catches a size that is not checked: a use of the last bytes would fault.
TEST_P(ForeignMemoryTest, moreThanThereIsIsAnErrorThatLeavesNothingBehind) {
    Memory const memory = GetParam().make(device());
    Held const before = Held::now();
    for (std::size_t const announced : {10'100UL, 12'288UL, 1UL << 20, 1UL << 40, ~0UL}) {
        // The driver reports a size that fits into its file, but not into the memory.
        std::string const text = text_of_any<UsageError, VulkanError, OutOfMemoryError>(
            [&] { (void)GetParam().map(memory.export_fd(), announced); });
        EXPECT_NE(text.find(": "), std::string::npos) << text;
    }
    CARILLON_EXPECT_ERROR(GetParam().map(memory.export_fd(), 0), UsageError, "connect: ");
    if (GetParam().source != MemorySource::vulkan) {
        CARILLON_EXPECT_ERROR(GetParam().map(memory.export_fd(), 9999), UsageError,
                              "connect: the shared memory has 10000 bytes, not the announced 9999");
    }
    EXPECT_EQ(Held::now(), before);
}

// A pipe that is open for writing elsewhere would keep Mesa's driver waiting for ever.
TEST_P(ForeignMemoryTest, descriptorOfSomethingElseIsAnErrorThatLeavesNothingBehind) {
    Held const before = Held::now();
    std::array<int, 2> open_pipe{};
    ASSERT_EQ(::pipe2(open_pipe.data(), O_CLOEXEC), 0);
    FileDescriptor const writer(open_pipe[1]);
    bool const vulkan = GetParam().source == MemorySource::vulkan;
    std::string const what = vulkan
                                 ? "connect: the descriptor is not memory from Vulkan's CPU driver"
                                 : "connect: the descriptor is not sealed shared memory";
    CARILLON_EXPECT_ERROR(GetParam().map(FileDescriptor(open_pipe[0])), UsageError, what);
    CARILLON_EXPECT_ERROR(GetParam().map(end_of_pipe(0)), UsageError, what);
    CARILLON_EXPECT_ERROR(GetParam().map(end_of_pipe(1)), UsageError, what);
    CARILLON_EXPECT_ERROR(GetParam().map(FileDescriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC))),
                          UsageError, what);
    (void)text_of_any<UsageError, SystemError>([&] { (void)GetParam().map(FileDescriptor()); });
    std::string const text =
        text_of_any<UsageError, VulkanError>([&] { (void)GetParam().map(unsealed_memfd()); });
    EXPECT_NE(text.find(vulkan ? "vkAllocateMemory: " : what), std::string::npos) << text;
    EXPECT_EQ(Held::now().mappings, before.mappings);
    EXPECT_EQ(Held::now().descriptors, before.descriptors + 1);  // the writer
}

// Catches a descriptor that the driver has closed already, though it refuses it, as Mesa 22.3 does:
// its number may be another thread's by then.
TEST_P(ForeignMemoryTest, refusalClosesNoDescriptorOfAnotherThread) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "to the thread sanitizer it is a race to ask whose a descriptor is";
    }
    std::atomic<bool> done = false;
    std::atomic<int> lost = 0;
    std::thread other([&] {
        while (!done) {
            int const own = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
            sched_yield();
            if (::close(own) != 0) ++lost;
        }
    });
    for (int i = 0; i < 10'000; ++i) EXPECT_THROW((void)GetParam().map(unsealed_memfd()), Error);
    done = true;
    other.join();
    EXPECT_EQ(lost, 0);
}

TEST_P(ForeignMemoryTest, childThatIsForkedHasNoneOfIt) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    Memory const memory = GetParam().make(device());
    std::optional<ForeignMemory> foreign = GetParam().map(memory.export_fd());
    for (std::size_t const offset : {std::size_t{0}, GetParam().size - 1}) {
        auto volatile* const byte = at(foreign->host_ptr(), offset);
        EXPECT_EQ(in_child([&] {
                      ::signal(SIGSEGV, SIG_DFL);  // not a sanitizer's
                      *byte = 1;
                      return 0;
                  }),
                  killed_by + SIGSEGV);
        EXPECT_EQ(*byte, 0);
    }
    EXPECT_EQ(in_child([&] {
                  CARILLON_EXPECT_ERROR(foreign->host_ptr(), ForkError, "fork()");
                  foreign.reset();  // releases nothing
                  return testing::Test::HasFailure() ? 1 : 0;
              }),
              0);
    *at(foreign->host_ptr(), 1) = 2;
    EXPECT_EQ(*at(memory.host_ptr(), 1), 2);
}

TEST(ForeignMemoryOfNobodyTest, sourcesThatCannotBeMappedAreUnsupported) {
    struct Source {
        MemorySource value;
        std::string name;
    };
    for (Source const& source : {Source{MemorySource::dma_buf, "dma-buf"},
                                 {MemorySource::gdrcopy, "gdrcopy"},
                                 {MemorySource::unknown, "unknown source"},
                                 {static_cast<MemorySource>(99), "unknown source"}}) {
        CARILLON_EXPECT_ERROR(ForeignMemory(unsealed_memfd(), 4096, source.value, {}),
                              UnsupportedError,
                              "another process cannot map memory from " + source.name);
    }
}

TEST(ForeignMemoryOfNobodyTest, memoryOfAGpuThatIsNotHereIsUnsupported) {
    std::optional<detail::Uuid> const none{{0xca, 0x71}};
    CARILLON_EXPECT_ERROR(ForeignMemory(unsealed_memfd(), 4096, MemorySource::vulkan, none),
                          UnsupportedError, ": ");
}

// The descriptor that comes; none when the other end is closed.
FileDescriptor receive_descriptor(UnixSocket const& socket) {
    detail::Received received;
    (void)eventually([&] {
        received = socket.receive();
        return !std::holds_alternative<detail::NothingThere>(received);
    });
    auto* const message = std::get_if<detail::SocketMessage>(&received);
    return message == nullptr ? FileDescriptor() : std::move(message->descriptors.at(0));
}

// C3: a process that opens the drivers that it needs, maps the memory that it gets, and answers in
// it.
int map_and_answer(Exported const& of, UnixSocket const& socket) {
    FileDescriptor fd = receive_descriptor(socket);
    if (fd.get() < 0) return 0;  // P had nothing to send
    ForeignMemory const foreign = of.map(std::move(fd));
    if (std::strcmp(at(foreign.host_ptr(), 5000), "from P") != 0) return 2;
    std::strcpy(at(foreign.host_ptr(), 100), "from C");
    return 0;
}

// P is this process, C its child. P1: starts C, before either opens a driver. P2: makes memory,
// writes there, and sends the descriptor. C3: maps it, reads, and writes. P4: sees what C wrote.
[[noreturn]] void share_with_a_child(Exported const& of) {
    std::array<int, 2> ends{};
    if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) std::_Exit(3);
    std::optional<UnixSocket> here(std::in_place, FileDescriptor(ends[0]));
    pid_t const child = start_child([&] {
        here.reset();
        return map_and_answer(of, UnixSocket(FileDescriptor(ends[1])));
    });
    bool right = true;
    if (auto const device = open_or_skip(of.selector)) {
        Memory const memory = of.make(*device);
        std::strcpy(at(memory.host_ptr(), 5000), "from P");
        FileDescriptor const fd = memory.export_fd();
        right = here->send(std::array{std::byte{1}}, std::array{fd.get()}) &&
                outcome_of(child) == 0 && std::strcmp(at(memory.host_ptr(), 100), "from C") == 0;
    } else {
        here.reset();
        ::close(ends[1]);
        right = outcome_of(child) == 0;
    }
    std::_Exit(right ? 0 : 1);
}

class ForeignMemoryProcessTest : public testing::TestWithParam<Exported> {};
INSTANTIATE_TEST_SUITE_P(Of, ForeignMemoryProcessTest, testing::ValuesIn(exported), exported_name);

// Runs in a process of its own, since no driver may be open in one that forks.
TEST_P(ForeignMemoryProcessTest, anotherProcessMapsWhatItIsSent) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(share_with_a_child(GetParam()), testing::ExitedWithCode(0), "");
    if (!open_or_skip(GetParam().selector)) GTEST_SKIP() << "no Vulkan driver on the CPU";
}

}  // namespace
}  // namespace carillon::test
