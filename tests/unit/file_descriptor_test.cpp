// SPDX-License-Identifier: Apache-2.0
#include "carillon/memory.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>

#include "carillon/error.hpp"

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

// Catches a move that leaves two owners: the second close would hit somebody else's descriptor.
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

}  // namespace
}  // namespace carillon
