// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/say_line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <regex>
#include <string>

#include "carillon/detail/wire/config.hpp"
#include "carillon/memory.hpp"
#include "support/captured_stderr.hpp"
#include "support/eventually.hpp"
#include "support/piped_stderr.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::test {
namespace {

constexpr unsigned many = 1000;  // more lines than the queue and a pipe have room for

class SayLineTest : public ::testing::Test {
   protected:
    // The library's writing thread exists already: a test of a process needs a new process.
    SayLineTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    ~SayLineTest() override { EXPECT_TRUE(detail::lines_are_written(patience)); }
};

TEST_F(SayLineTest, lineEndsOnce) {
    testing::internal::CaptureStderr();
    detail::say_line("without an end");
    detail::say_line("with one\n");
    EXPECT_EQ(captured_stderr(), "without an end\nwith one\n");
}

TEST_F(SayLineTest, readerOfStderrThatHasGoneEndsNobodyAndTheLossIsSaid) {
    {
        PipedStderr standard_error;
        standard_error.close_reader();
        detail::say_line("for nobody");
        EXPECT_TRUE(detail::lines_are_written(patience));
    }
    testing::internal::CaptureStderr();
    detail::say_line("for somebody");
    EXPECT_EQ(captured_stderr(),
              "carillon: 1 lines before this one were lost: stderr did not accept them\n"
              "for somebody\n");
}

// Each line is written or counted as lost.
TEST_F(SayLineTest, callerDoesNotWaitForAReaderOfStderrAndEachLineIsWrittenOrCounted) {
    PipedStderr const standard_error;
    for (unsigned i = 0; i < many; ++i)
        detail::say_line(
            "a line as long as this one is "
            "....");
    EXPECT_FALSE(detail::lines_are_written(std::chrono::nanoseconds(0)));
    std::string all;
    while (!detail::lines_are_written(std::chrono::nanoseconds(0))) all += standard_error.read(10);
    detail::say_line("the last one");
    while (all.find("the last one\n") == std::string::npos) all += standard_error.read();
    unsigned counted = 0;
    std::regex const lost("carillon: ([0-9]+) lines before this one were lost");
    for (std::sregex_iterator each(all.begin(), all.end(), lost); each != std::sregex_iterator();
         ++each) {
        counted += static_cast<unsigned>(std::stoul((*each)[1]));
    }
    EXPECT_GT(counted, 0U);
    for (std::size_t at = 0; (at = all.find("a line as", at)) != std::string::npos; ++at) ++counted;
    EXPECT_EQ(counted, many);
}

TEST_F(SayLineTest, limitOfFileSizesEndsNobody) {
    EXPECT_EXIT(
        {
            TemporaryDirectory const folder;
            std::string const path = (folder.path() / "lines").string();
            FileDescriptor const file(::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
            (void)::dup2(file.get(), STDERR_FILENO);
            ::rlimit none{};
            none.rlim_max = RLIM_INFINITY;
            (void)::setrlimit(RLIMIT_FSIZE, &none);
            detail::say_line("too long for that");
            std::_Exit(detail::lines_are_written(patience) ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(SayLineTest, processThatExitsWritesItsLines) {
    EXPECT_EXIT(
        {
            for (unsigned i = 0; i < 100; ++i) detail::say_line("a line");
            detail::say_line("the last one");
            std::exit(0);  // NOLINT(concurrency-mt-unsafe)
        },
        ::testing::ExitedWithCode(0), "the last one");
}

// The line is written however the process then ends: it needs no thread.
TEST_F(SayLineTest, lineThatStderrHasRoomForIsWrittenAtOnce) {
    EXPECT_EXIT(
        {
            detail::say_line("the last one");
            std::_Exit(0);
        },
        ::testing::ExitedWithCode(0), "the last one");
    EXPECT_EXIT(
        {
            detail::say_line("the last one");
            (void)std::raise(SIGTERM);
        },
        ::testing::KilledBySignal(SIGTERM), "the last one");
}

// Ends the process, with 0 where its last line is written after stderr has room again: that comes
// when `exit` has begun.
void end_with_a_line_queued(int (*at_exit)(void (*)()), void (*exit)(int)) {
    static PipedStderr const* standard_error = nullptr;
    standard_error = std::make_unique<PipedStderr>().release();
    (void)at_exit([] {  // behind the library's
        std::_Exit(standard_error->read(0).find("the last one\n") == std::string::npos ? 1 : 0);
    });
    detail::say_line(std::string(4095, '.'));
    detail::say_line("the last one");
    (void)at_exit([] { (void)standard_error->read(); });  // before it
    exit(2);
}

TEST_F(SayLineTest, linesThatWaitAreWrittenAtQuickExitToo) {
    EXPECT_EXIT(end_with_a_line_queued(&std::atexit, &std::exit), ::testing::ExitedWithCode(0), "");
    EXPECT_EXIT(end_with_a_line_queued(&std::at_quick_exit, &std::quick_exit),
                ::testing::ExitedWithCode(0), "");
}

// No thread starts: there is no memory for its stack.
TEST_F(SayLineTest, linesAreWrittenAtExitThoughNoThreadCanBeHad) {
#if CARILLON_THREAD_SANITIZER || CARILLON_ADDRESS_SANITIZER
    GTEST_SKIP() << "a sanitizer needs memory of its own";
#endif
    auto const end_without_a_thread = [] {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        constexpr rlim_t less_than_a_stack = 1 << 19;
        ::rlimit const tight{pages * 4096 + less_than_a_stack, RLIM_INFINITY};
        (void)::setrlimit(RLIMIT_AS, &tight);
        end_with_a_line_queued(&std::atexit, &std::exit);
    };
    EXPECT_EXIT(end_without_a_thread(), ::testing::ExitedWithCode(0), "");
}

TEST_F(SayLineTest, signalsOfAWriteComeToNobody) {
    EXPECT_EXIT(
        {
            PipedStderr standard_error;
            standard_error.close_reader();
            detail::say_line("for nobody");
            sigset_t pending;
            (void)::sigpending(&pending);
            std::_Exit(sigismember(&pending, SIGPIPE) == 0 ? 0 : 1);
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(SayLineTest, processEndsThoughNobodyReadsItsStderr) {
    EXPECT_EXIT(
        {
            PipedStderr const standard_error;
            for (unsigned i = 0; i < many; ++i) detail::say_line(std::string(100, '.'));
            std::exit(0);  // NOLINT(concurrency-mt-unsafe)
        },
        ::testing::ExitedWithCode(0), "");
}

TEST_F(SayLineTest, childThatWasForkedWritesItsOwnLines) {
    if (CARILLON_THREAD_SANITIZER != 0) {
        GTEST_SKIP() << "the sanitizer lets no child of a process with threads start one";
    }
    GTEST_FLAG_SET(death_test_style, "fast");
    detail::say_line("");
    EXPECT_EXIT(
        {
            detail::say_line("of the child");
            std::exit(0);  // NOLINT(concurrency-mt-unsafe)
        },
        ::testing::ExitedWithCode(0), "of the child");
}

}  // namespace
}  // namespace carillon::test
