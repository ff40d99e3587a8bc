// SPDX-License-Identifier: Apache-2.0
#include "carillon/memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>

#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"
#include "os/shared_memory.hpp"
#include "support/in_child.hpp"

namespace carillon {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

FileDescriptor open_null() { return FileDescriptor(::open("/dev/null", O_RDONLY)); }

TEST(FileDescriptorTest, emptyOneHoldsNothing) {
    FileDescriptor const empty;
    EXPECT_EQ(empty.get(), -1);
}

TEST(FileDescriptorTest, destructorCloses) {
    int number = -1;
    {
        FileDescriptor const fd = open_null();
        number = fd.get();
        ASSERT_TRUE(is_open(number));
    }
    EXPECT_FALSE(is_open(number));
}

// Catches a move that leaves two owners: the second close would close another object's descriptor.
TEST(FileDescriptorTest, moveHandsTheDescriptorOver) {
    FileDescriptor from = open_null();
    int const number = from.get();
    FileDescriptor const to = std::move(from);
    EXPECT_EQ(to.get(), number);
    EXPECT_EQ(from.get(), -1);  // NOLINT(bugprone-use-after-move): what a move leaves is tested
    EXPECT_TRUE(is_open(number));
}

TEST(FileDescriptorTest, moveAssignmentKeepsTheNewOneAndClosesTheOld) {
    int old_number = -1;
    int new_number = -1;
    {
        FileDescriptor to = open_null();
        old_number = to.get();
        {
            FileDescriptor from = open_null();
            new_number = from.get();
            to = std::move(from);
        }
        EXPECT_EQ(to.get(), new_number);
        EXPECT_TRUE(is_open(new_number));
        EXPECT_FALSE(is_open(old_number));
    }
    EXPECT_FALSE(is_open(new_number));
}

TEST(FileDescriptorTest, releaseGivesItAwayOpen) {
    int number = -1;
    {
        FileDescriptor fd = open_null();
        number = fd.release();
        EXPECT_EQ(fd.get(), -1);
    }
    ASSERT_TRUE(is_open(number));
    ::close(number);
}

TEST(FileDescriptorTest, duplicateIsAnotherDescriptorThatCloseOnExecs) {
    FileDescriptor const fd = open_null();
    FileDescriptor const copy = fd.duplicate();
    EXPECT_NE(copy.get(), fd.get());
    EXPECT_EQ(::fcntl(copy.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
}

TEST(FileDescriptorTest, closeOnExecIsSetOnTheDescriptorItself) {
    FileDescriptor const fd = open_null();
    ASSERT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, 0);
    fd.close_on_exec();
    EXPECT_EQ(::fcntl(fd.get(), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
    EXPECT_THROW(FileDescriptor().close_on_exec(), SystemError);
}

TEST(FileDescriptorTest, duplicateOfNothingIsASystemErrorWithItsErrno) {
    try {
        (void)FileDescriptor().duplicate();
        FAIL() << "nothing was thrown";
    } catch (SystemError const& error) {
        EXPECT_EQ(error.code(), EBADF);
        EXPECT_EQ(error.call(), "fcntl(F_DUPFD_CLOEXEC)");
    }
}

// Otherwise the output of a program that was started without its standard streams would go there.
TEST(FileDescriptorTest, isNoneOfTheStandardStreams) {
    EXPECT_EQ(test::in_child([] {
                  for (int const each : {0, 1, 2}) ::close(each);
                  FileDescriptor const fd = open_null();
                  FileDescriptor const copy = fd.duplicate();
                  bool const above = fd.get() > 2 && copy.get() > 2;
                  bool const free = !is_open(0) && !is_open(1) && !is_open(2);
                  return above && free && ::fcntl(fd.get(), F_GETFD) == FD_CLOEXEC ? 0 : 1;
              }),
              0);
}

TEST(FileDescriptorTest, lineWithoutAStderrIsNotWrittenIntoSharedMemory) {
    EXPECT_EQ(test::in_child([] {
                  ::close(STDERR_FILENO);
                  detail::SharedMemory const memory(4096);
                  detail::say_line("a line");
                  bool const lost = detail::lines_are_written(test::patience);
                  return lost && memory.bytes()[0] == std::byte{} ? 0 : 1;
              }),
              0);
}

TEST(FileDescriptorTest, isNoneWhereOnlyAStandardStreamsNumberIsLeft) {
    EXPECT_EQ(test::in_child([] {
                  FileDescriptor const last = open_null();
                  auto const next = static_cast<rlim_t>(last.get()) + 1;
                  ::rlimit const tight{next, next};
                  if (::setrlimit(RLIMIT_NOFILE, &tight) != 0 || ::close(0) != 0) return 2;
                  FileDescriptor const fd = open_null();
                  return fd.get() == -1 && errno == EMFILE && !is_open(0) ? 0 : 1;
              }),
              0);
}

}  // namespace
}  // namespace carillon
