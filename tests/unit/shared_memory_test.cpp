// SPDX-License-Identifier: Apache-2.0
// Memory that processes share by its descriptor, and descriptors of other things.
#include "os/shared_memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <thread>
#include <utility>

#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"
#include "os/own_descriptor.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"
#include "support/in_child.hpp"

namespace carillon::test {
namespace {

using detail::ForksLater;
using detail::SharedMemory;

constexpr std::size_t shared_size = 10'000;

FileDescriptor memfd(int seals) {
    FileDescriptor file(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    EXPECT_EQ(::ftruncate(file.get(), shared_size), 0);
    EXPECT_EQ(::fcntl(file.get(), F_ADD_SEALS, seals), 0);
    return file;
}

FileDescriptor end_of_pipe() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    ::close(ends[1]);
    return FileDescriptor(ends[0]);
}

FileDescriptor plain_file() {
    std::FILE* const file = std::tmpfile();
    FileDescriptor copy(::dup(::fileno(file)));
    EXPECT_EQ(::ftruncate(copy.get(), shared_size), 0);
    (void)std::fclose(file);
    return copy;
}

TEST(SharedMemoryTest, isZeroedAndAsLargeAsAskedFor) {
    SharedMemory const memory(shared_size);
    ASSERT_EQ(memory.bytes().size(), shared_size);
    EXPECT_EQ(std::ranges::count(memory.bytes(), std::byte{0}), shared_size);
    EXPECT_EQ(::fcntl(memory.descriptor().get(), F_GETFD), FD_CLOEXEC);
}

// Catches memory that another process can take away from under its reader.
TEST(SharedMemoryTest, nobodyCanChangeItsSize) {
    SharedMemory const memory(shared_size);
    FileDescriptor const given_away = memory.duplicate();
    for (off_t const other : {0L, 4096L, 9999L, 10'001L, 1L << 20}) {
        EXPECT_EQ(::ftruncate(given_away.get(), other), -1);
        EXPECT_EQ(errno, EPERM);
    }
    EXPECT_EQ(::fcntl(given_away.get(), F_ADD_SEALS, F_SEAL_WRITE), -1) << "for good, and no other";
}

TEST(SharedMemoryTest, whoeverHasTheDescriptorSeesTheSameBytes) {
    SharedMemory const memory(shared_size);
    SharedMemory const other(memory.duplicate(), shared_size);
    EXPECT_NE(other.bytes().data(), memory.bytes().data());
    memory.bytes()[shared_size - 1] = std::byte{1};
    EXPECT_EQ(other.bytes()[shared_size - 1], std::byte{1});
    other.bytes()[0] = std::byte{2};
    EXPECT_EQ(memory.bytes()[0], std::byte{2});
}

TEST(SharedMemoryTest, outlivesWhoMadeIt) {
    auto memory = std::make_unique<SharedMemory>(shared_size);
    memory->bytes()[5] = std::byte{3};
    SharedMemory const other(memory->duplicate(), shared_size);
    memory.reset();
    EXPECT_EQ(other.bytes()[5], std::byte{3});
}

// Catches a descriptor whose size its owner may still change, and one that is no memory at all.
TEST(SharedMemoryTest, whatIsNotSealedSharedMemoryIsAUsageError) {
    Held const before = Held::now();
    for (FileDescriptor (*const make)() :
         {+[] { return memfd(0); }, +[] { return memfd(F_SEAL_SHRINK); },
          +[] { return memfd(F_SEAL_GROW | F_SEAL_SEAL); }, &end_of_pipe, &plain_file,
          +[] { return FileDescriptor(::open("/dev/zero", O_RDWR | O_CLOEXEC)); },
          +[] { return FileDescriptor(); }}) {
        CARILLON_EXPECT_ERROR(SharedMemory(make(), shared_size), UsageError,
                              "the descriptor is not sealed shared memory");
    }
    EXPECT_EQ(Held::now(), before);
}

TEST(SharedMemoryTest, anotherSizeThanAnnouncedIsAUsageErrorWithBoth) {
    SharedMemory const memory(shared_size);
    Held const before = Held::now();
    for (std::size_t const announced : {0UL, 1UL, 9999UL, 10'001UL, 12'288UL, ~0UL}) {
        CARILLON_EXPECT_ERROR(
            SharedMemory(memory.duplicate(), announced), UsageError,
            "the shared memory has 10000 bytes, not the announced " + std::to_string(announced));
    }
    EXPECT_EQ(Held::now(), before);
}

TEST(SharedMemoryTest, whatCannotBeMappedIsASystemErrorThatLeavesNothing) {
    Held const before = Held::now();
    CARILLON_EXPECT_ERROR(
        SharedMemory(memfd(F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), shared_size), SystemError,
        "mmap");
    CARILLON_EXPECT_ERROR(SharedMemory(0), SystemError, "mmap");
    EXPECT_EQ(Held::now(), before);
}

// The child lacks all of the last page too, whose end lies beyond the memory's.
TEST(SharedMemoryTest, childThatIsForkedHasNoneOfIt) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    SharedMemory const memory(shared_size);
    for (std::size_t const at : {std::size_t{0}, shared_size - 1}) {
        auto* const byte = reinterpret_cast<char volatile*>(&memory.bytes()[at]);
        EXPECT_EQ(in_child([&] {
                      ::signal(SIGSEGV, SIG_DFL);  // not a sanitizer's
                      *byte = 1;
                      return 0;
                  }),
                  killed_by + SIGSEGV);
        EXPECT_EQ(*byte, 0);
    }
}

// A fork waits until a new mapping or descriptor is kept from children, so that the child has
// neither.
TEST(SharedMemoryTest, forkWaitsForWhatIsKeptFromChildren) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the thread sanitizer does not follow a fork beside threads";
    }
    SharedMemory const memory(shared_size);
    static std::atomic<bool> begins{false};
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
    FileDescriptor const child_tells(ends[0]);
    // Runs before the library's handler, which was registered first.
    ASSERT_EQ(::pthread_atfork([] { begins = true; }, nullptr, nullptr), 0);
    int forked = 0;
    std::jthread forker;
    {
        ForksLater const alone;
        forker = std::jthread([&forked, to = FileDescriptor(ends[1])] {
            forked = in_child([&] { return ::write(to.get(), "x", 1) == 1 ? 0 : 1; });
        });
        ASSERT_TRUE(eventually([] { return begins.load(); }));
        ::pollfd told{child_tells.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&told, 1, 20), 0);
    }
    forker.join();
    EXPECT_EQ(forked, 0);
}

TEST(SharedMemoryTest, childMapsTheDescriptorThatItInherited) {
    SharedMemory const memory(shared_size);
    EXPECT_EQ(in_child([&] {
                  SharedMemory const own(memory.duplicate(), shared_size);
                  own.bytes()[7] = std::byte{7};
                  return 0;
              }),
              0);
    EXPECT_EQ(memory.bytes()[7], std::byte{7});
}

}  // namespace
}  // namespace carillon::test
