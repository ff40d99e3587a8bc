// SPDX-License-Identifier: Apache-2.0
#include "os/unix_socket.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "carillon/error.hpp"
#include "support/asleep.hpp"
#include "support/eventually.hpp"
#include "support/expect_error.hpp"
#include "support/held_resources.hpp"
#include "support/in_child.hpp"
#include "support/temporary_directory.hpp"

namespace carillon::detail {
namespace {

using namespace std::chrono_literals;
using test::Held;
using test::in_child;
using Path = std::filesystem::path;

class UnixListenerTest : public testing::Test {
   protected:
    [[nodiscard]] Path path() const { return folder() / "quotes.sock"; }
    [[nodiscard]] Path folder() const { return folder_.path(); }

    void TearDown() override { EXPECT_EQ(Held::now(), held_); }

   private:
    Held held_ = Held::now();
    test::TemporaryDirectory folder_;
};

// For as long as it lives.
struct Umask {
    explicit Umask(mode_t mask) : before(::umask(mask)) {}
    ~Umask() { ::umask(before); }
    mode_t before;
};

bool socket_at(Path const& path) {
    struct ::stat file {};
    return ::lstat(path.c_str(), &file) == 0 && S_ISSOCK(file.st_mode);
}
mode_t mode_of(Path const& path) {
    struct ::stat file {};
    EXPECT_EQ(::lstat(path.c_str(), &file), 0);
    return file.st_mode & 07777;
}

// The events of the file with that name since the last call.
std::vector<std::uint32_t> events_of(FileDescriptor const& watch, std::string const& name) {
    std::vector<std::uint32_t> events;
    alignas(::inotify_event) std::array<char, 4096> bytes{};
    ssize_t const size = ::read(watch.get(), bytes.data(), bytes.size());
    for (ssize_t at = 0; at < size;) {
        auto const* event = reinterpret_cast<::inotify_event const*>(bytes.data() + at);
        if (event->len != 0 && name == event->name) events.push_back(event->mask);
        at += static_cast<ssize_t>(sizeof(::inotify_event) + event->len);
    }
    return events;
}

FileDescriptor bound(Path const& path, int type) {
    FileDescriptor fd(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    auto const address = unix_address(path);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<::sockaddr const*>(&address), sizeof(address)), 0);
    return fd;
}

bool answers(UnixListener const& listener, Path const& path) {
    UnixSocket const here = connect_unix(path, 0s);
    auto const there = listener.accept();
    std::array const byte{std::byte{7}};
    return there && here.send(byte) && std::holds_alternative<SocketMessage>(there->receive());
}

TEST_F(UnixListenerTest, whoConnectsIsTakenAndKnown) {
    UnixListener const listener(path(), 0600);
    EXPECT_FALSE(listener.accept().has_value());
    UnixSocket const here = connect_unix(path(), 1s);
    auto const there = listener.accept();
    ASSERT_TRUE(there.has_value());
    EXPECT_EQ(there->peer().pid, ::getpid());
    EXPECT_EQ(here.peer().pid, ::getpid());
    for (int const fd : {listener.fd(), there->fd(), here.fd()}) {
        EXPECT_NE(::fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
        EXPECT_NE(::fcntl(fd, F_GETFL) & O_NONBLOCK, 0);
    }
    EXPECT_FALSE(listener.accept().has_value());
}

TEST_F(UnixListenerTest, fileGoesWithTheListenerAndTheLockStays) {
    {
        UnixListener const listener(path(), 0600);
        EXPECT_TRUE(socket_at(path()));
    }
    EXPECT_FALSE(socket_at(path()));
    EXPECT_TRUE(std::filesystem::exists(path().string() + ".lock"));
    UnixListener const again(path(), 0600);
    EXPECT_TRUE(answers(again, path()));
}

TEST_F(UnixListenerTest, fileHasTheModeWhateverTheUmaskIs) {
    for (mode_t const mask : {0, 022, 077, 0777}) {
        for (mode_t const mode : {0600, 0660, 0666, 0777}) {
            Umask const umask(mask);
            UnixListener const listener(path(), mode);
            EXPECT_EQ(mode_of(path()), mode) << "with a umask of " << mask;
            ::unlink((path().string() + ".lock").c_str());  // whose mode it may have taken away
        }
    }
}

// Catches a file that everybody may write to until its mode is changed.
TEST_F(UnixListenerTest, modeIsNeverWiderThanWanted) {
    Umask const umask(0);
    FileDescriptor const watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    ASSERT_GE(::inotify_add_watch(watch.get(), folder().c_str(), IN_ATTRIB), 0);
    UnixListener const listener(path(), 0600);
    EXPECT_EQ(mode_of(path()), 0600U);
    std::array<char, 4096> events{};
    EXPECT_EQ(::read(watch.get(), events.data(), events.size()), -1) << "its mode was changed";
}

// Catches a file that a client finds before its mode is right: another user's is refused then.
TEST_F(UnixListenerTest, modeNeverChangesAtThePath) {
    Path const longest = folder() / std::string(107 - folder().native().size() - 1, 'x');
    FileDescriptor const watch(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
    ASSERT_GE(::inotify_add_watch(watch.get(), folder().c_str(), IN_CREATE | IN_ATTRIB), 0);
    Umask const umask(022);
    for (Path const& at : {path(), longest}) {
        UnixListener const listener(at, 0666);
        EXPECT_EQ(mode_of(at), 0666U);
        EXPECT_TRUE(answers(listener, at));
        EXPECT_EQ(events_of(watch, at.filename()), std::vector<std::uint32_t>{IN_CREATE});
    }
}

// 1. An owner is killed before its socket has its path. 2. The next one removes the remains.
TEST_F(UnixListenerTest, nothingButTheSocketAndItsLockStays) {
    { UnixListener const listener(path(), 0600); }
    struct ::stat lock {};
    ASSERT_EQ(::stat((path().string() + ".lock").c_str(), &lock), 0);
    {
        FileDescriptor const left =
            bound(path().string() + "." + std::to_string(lock.st_ino) + ".new", SOCK_SEQPACKET);
    }
    UnixListener const listener(path(), 0666);
    EXPECT_TRUE(answers(listener, path()));
    EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder()), {}), 2);
}

TEST_F(UnixListenerTest, pathThatNoSocketCanHaveIsAUsageError) {
    auto const listen = [](Path const& at) { UnixListener(at, 0600); };
    Path const longest = folder() / std::string(107 - folder().native().size() - 1, 'x');
    CARILLON_EXPECT_ERROR(listen(""), UsageError, "the path of the socket is empty");
    CARILLON_EXPECT_ERROR(listen(std::string("a\0b", 3)), UsageError, "contains a byte 0");
    CARILLON_EXPECT_ERROR(listen(longest.string() + "x"), UsageError,
                          "x: the path of a socket has at most 107 bytes, this one has 108");
    CARILLON_EXPECT_ERROR(connect_unix(longest.string() + "x", 0s), UsageError, "this one has 108");
    CARILLON_EXPECT_ERROR(connect_unix("", 0s), UsageError, "is empty");
    CARILLON_EXPECT_ERROR(UnixListener(path(), 01600), UsageError, "1600 is not a socket mode");
    UnixListener const listener(longest, 0600);
    EXPECT_TRUE(answers(listener, longest));
}

TEST_F(UnixListenerTest, folderThatDoesNotExistIsNamed) {
    Path const nowhere = folder() / "nowhere" / "a.sock";
    CARILLON_EXPECT_ERROR(UnixListener(nowhere, 0600), SystemError, nowhere.string());
    CARILLON_EXPECT_ERROR(UnixListener(nowhere, 0600), SystemError,
                          "the folder of the socket does not exist");
    CARILLON_EXPECT_ERROR(connect_unix(nowhere, 0s), SystemError, "there is no such socket");
}

TEST_F(UnixListenerTest, fileOfAnotherKindStaysAndIsAnError) {
    std::ofstream(path()) << "precious";
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError,
                          "quotes.sock is taken: it is a file, not a socket");
    EXPECT_EQ(std::filesystem::file_size(path()), 8U);
    CARILLON_EXPECT_ERROR(connect_unix(path(), 0s), SystemError, "not a socket");
    CARILLON_EXPECT_ERROR(UnixListener(folder(), 0600), UsageError, "not a socket");
    ::unlink((folder().string() + ".lock").c_str());
}

TEST_F(UnixListenerTest, linkIsNotFollowed) {
    std::filesystem::create_symlink(folder() / "elsewhere", path());
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError, "not a socket");
    EXPECT_FALSE(std::filesystem::exists(folder() / "elsewhere"));
    Path const lock = folder() / "other.lock";
    std::filesystem::create_symlink(folder() / "elsewhere", lock);
    CARILLON_EXPECT_ERROR(UnixListener(folder() / "other", 0600), SystemError, "other.lock");
    EXPECT_FALSE(std::filesystem::exists(folder() / "elsewhere"));
}

TEST_F(UnixListenerTest, pathOfAnotherListenerIsTaken) {
    UnixListener const first(path(), 0600);
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError,
                          "quotes.sock is taken: another owner holds its lock");
    ::unlink((path().string() + ".lock").c_str());  // as a clean-up may do
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError,
                          "quotes.sock is taken: another process listens there");
    (void)first.accept();  // the client that asked
    EXPECT_TRUE(answers(first, path()));
}

TEST_F(UnixListenerTest, pathOfAnotherProgramsListenerIsTaken) {
    FileDescriptor const other = bound(path(), SOCK_STREAM);
    ASSERT_EQ(::listen(other.get(), 1), 0);
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError, "another process listens");
    CARILLON_EXPECT_ERROR(connect_unix(path(), 0s), SystemError, "to another program");
    EXPECT_TRUE(socket_at(path()));
}

TEST_F(UnixListenerTest, socketThatNobodyListensAtIsReplaced) {
    { FileDescriptor const gone = bound(path(), SOCK_SEQPACKET); }
    CARILLON_EXPECT_ERROR(connect_unix(path(), 1s), SystemError, "no process listens there");
    UnixListener const listener(path(), 0600);
    EXPECT_TRUE(answers(listener, path()));
}

TEST_F(UnixListenerTest, pathOfAProcessThatWasKilledIsTakenOver) {
    EXPECT_EQ(in_child([&] {
                  UnixListener const listener(path(), 0600);
                  ::raise(SIGKILL);
                  return 0;
              }),
              test::killed_by + SIGKILL);
    EXPECT_TRUE(socket_at(path()));
    UnixListener const listener(path(), 0600);
    EXPECT_TRUE(answers(listener, path()));
}

// Catches a listener that removes the socket that another has just made.
TEST_F(UnixListenerTest, ofTwoThatStartAtOnceOneListensAndStays) {
    for (int round = 0; round < 50; ++round) {
        { FileDescriptor const stale = bound(path(), SOCK_SEQPACKET); }
        std::barrier start(2);
        std::atomic<int> listening = 0;
        auto const serve = [&] {
            start.arrive_and_wait();
            std::optional<UnixListener> listener;
            try {
                listener.emplace(path(), 0600);
                ++listening;
            } catch (Error const& error) {  // the other was first
                EXPECT_NE(dynamic_cast<UsageError const*>(&error), nullptr) << error.what();
            }
            start.arrive_and_wait();
            if (listener) {
                EXPECT_TRUE(answers(*listener, path()));
            }
        };
        std::jthread other(serve);
        serve();
        other.join();
        EXPECT_EQ(listening, 1);
    }
}

TEST_F(UnixListenerTest, fileOfAnotherThatHasTakenThePathStays) {
    std::optional<UnixListener> first(std::in_place, path(), 0600);
    std::filesystem::rename(path(), folder() / "moved");
    FileDescriptor const other = bound(path(), SOCK_SEQPACKET);
    first.reset();
    EXPECT_TRUE(socket_at(path()));
    EXPECT_TRUE(socket_at(folder() / "moved"));
}

TEST_F(UnixListenerTest, relativePathIsRemovedFromWhereverTheProcessIs) {
    Path const before = std::filesystem::current_path();
    std::filesystem::current_path(folder());
    {
        UnixListener const listener("quotes.sock", 0600);
        EXPECT_TRUE(answers(listener, "quotes.sock"));
        std::filesystem::current_path(before);
    }
    EXPECT_FALSE(socket_at(path()));
}

TEST_F(UnixListenerTest, childLeavesItsParentsPathAlone) {
    std::optional<UnixListener> listener(std::in_place, path(), 0600);
    EXPECT_EQ(in_child([&] {
                  int wrong = 0;
                  try {
                      (void)listener->accept();
                      wrong = 1;
                  } catch (ForkError const&) {  // as it should be
                  }
                  listener.reset();
                  return wrong;
              }),
              0);
    EXPECT_TRUE(socket_at(path()));
    EXPECT_TRUE(answers(*listener, path()));
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError, "holds its lock");
}

TEST_F(UnixListenerTest, queueThatStaysFullIsATimeout) {
    UnixListener const listener(path(), 0600);
    std::vector<UnixSocket> waiting;
    auto const fill = [&] {
        for (;;) waiting.push_back(connect_unix(path(), 0s));
    };
    CARILLON_EXPECT_ERROR(fill(), TimeoutError, "quotes.sock did not accept the connection before");
    EXPECT_GE(waiting.size(), static_cast<std::size_t>(UnixListener::longest_queue));
    CARILLON_EXPECT_ERROR(connect_unix(path(), 20ms), TimeoutError,
                          "did not accept the connection");
    CARILLON_EXPECT_ERROR(UnixListener(path(), 0600), UsageError, "is taken");
    std::jthread const owner([&, connects = ::gettid()] {
        EXPECT_TRUE(test::eventually([&] { return test::is_asleep(connects); }));
        (void)listener.accept();
    });
    EXPECT_NO_THROW((void)connect_unix(path(), test::patience));
}

TEST_F(UnixListenerTest, signalsDoNotEndAWaitForTheQueue) {
    UnixListener const listener(path(), 0600);
    std::vector<UnixSocket> waiting;
    auto const fill = [&] {
        for (;;) waiting.push_back(connect_unix(path(), 0s));
    };
    EXPECT_THROW(fill(), TimeoutError);
    struct ::sigaction interrupt {};
    interrupt.sa_handler = [](int) {};
    struct ::sigaction before {};
    ASSERT_EQ(::sigaction(SIGALRM, &interrupt, &before), 0);
    ::itimerval const often{{0, 2000}, {0, 2000}};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &often, nullptr), 0);
    CARILLON_EXPECT_ERROR(connect_unix(path(), 50ms), TimeoutError, "before the timeout");
    ::itimerval const never{};
    ASSERT_EQ(::setitimer(ITIMER_REAL, &never, nullptr), 0);
    ASSERT_EQ(::sigaction(SIGALRM, &before, nullptr), 0);
}

// Root may connect to anything, so the test asks as another user.
TEST_F(UnixListenerTest, whoMayNotWriteMayNotConnect) {
    UnixListener const listener(path(), ::geteuid() == 0 ? 0600 : 0);
    ASSERT_EQ(::chmod(folder().c_str(), 0755), 0);
    EXPECT_EQ(in_child([&] {
                  constexpr uid_t nobody = 65534;
                  if (::geteuid() == 0 && ::setuid(nobody) != 0) return 1;
                  try {
                      (void)connect_unix(path(), 1s);
                  } catch (SystemError const& error) {
                      bool const told =
                          std::string(error.what()).find("this user may not") != std::string::npos;
                      return error.code() == EACCES && told ? 0 : 2;
                  }
                  return 3;
              }),
              0);
    EXPECT_FALSE(listener.accept().has_value());
}

TEST_F(UnixListenerTest, limitOfDescriptorsIsASystemErrorAndNobodyIsLost) {
    UnixListener const listener(path(), 0600);
    UnixSocket const here = connect_unix(path(), 0s);
    ::rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    int const next = FileDescriptor(::dup(STDIN_FILENO)).get();
    ::rlimit const tight{static_cast<rlim_t>(next), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
    std::string const text = test::thrown_text<SystemError>([&] { (void)listener.accept(); });
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
    EXPECT_NE(text.find("accept4: EMFILE (24): Too many open files"), std::string::npos) << text;
    EXPECT_TRUE(listener.accept().has_value());
}

TEST_F(UnixListenerTest, manyComeAndGoWithoutALeak) {
    UnixListener const listener(path(), 0600);
    Held const before = Held::now();
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(answers(listener, path()));
    EXPECT_EQ(Held::now(), before);
}

}  // namespace
}  // namespace carillon::detail
