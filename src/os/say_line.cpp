// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/say_line.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "carillon/detail/host/thread.hpp"
#include "carillon/wait.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

constexpr std::size_t most_queued = 256;
constexpr std::chrono::milliseconds longest_at_exit{200};

std::atomic<bool> is_at_exit{false};
std::atomic<std::uint64_t> lines_lost{0};  // not reported by a line yet

// Takes back the signals that a write raises in its thread; no signal handler of the program runs
// meanwhile.
class NoSignalsOfWrites {
   public:
    NoSignalsOfWrites() noexcept { ::sigpending(&before_); }
    ~NoSignalsOfWrites() {
        for (int const each : {SIGPIPE, SIGXFSZ}) {
            if (sigismember(&before_, each) == 1) continue;
            sigset_t one;
            sigemptyset(&one);
            sigaddset(&one, each);
            ::timespec const now{};
            (void)::sigtimedwait(&one, nullptr, &now);
        }
    }
    NoSignalsOfWrites& operator=(NoSignalsOfWrites&&) = delete;

   private:
    OnlySynchronousSignals masked_;
    sigset_t before_{};
};

// Like write(2), but does not wait unless it `waits`: another writer to a pipe or a socket may have
// taken the room that poll() saw.
ssize_t write_some(std::string_view text, bool waits) noexcept {
    struct ::stat file {};
    bool const known = ::fstat(STDERR_FILENO, &file) == 0;
    if (!waits && known && (S_ISFIFO(file.st_mode) || S_ISSOCK(file.st_mode))) {
        ::iovec const part{const_cast<char*>(text.data()), text.size()};
        auto const n = retried([&] { return ::pwritev2(STDERR_FILENO, &part, 1, -1, RWF_NOWAIT); });
        if (n >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) return n;
    }
    return retried([&] { return ::write(STDERR_FILENO, text.data(), text.size()); });
}

enum class Taken : std::uint8_t { all, some, none };

// Leaves the rest in `text`. Some: there is no more room now, for which it waits if it `waits`.
// None: stderr does not take it.
Taken write_line(std::string& text, bool waits) noexcept {
    while (!text.empty()) {
        ::pollfd room{STDERR_FILENO, POLLOUT, 0};
        if (retried([&] { return ::poll(&room, 1, waits ? -1 : 0); }) != 1) return Taken::some;
        // A pipe has room for this much, or none.
        auto const n = write_some(std::string_view(text).substr(0, PIPE_BUF), waits);
        if (n < 0 && errno != EAGAIN) return Taken::none;
        if (n < 0 && !waits) return Taken::some;
        if (n > 0) text.erase(0, static_cast<std::size_t>(n));
    }
    return Taken::all;
}

// The thread does not end, so its code must stay loaded.
void keep_this_library() noexcept {
    ::Dl_info info{};
    if (::dladdr(reinterpret_cast<void const*>(&write_line), &info) == 0) return;
    (void)::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// The queue and its thread. The caller of say() also writes, as long as that does not wait.
class LineWriter {
   public:
    void say(std::unique_ptr<std::string> line) noexcept {
        if (queue_.bounded_push(line.get())) {
            (void)line.release();
            ++queued_;
        } else {
            ++lines_lost;
        }
        if (write_now()) return;
        queued_.notify_one();
        start();
    }
    bool wait_until_written(std::chrono::nanoseconds longest) noexcept {
        std::uint32_t const last = queued_;
        auto const written = [&] {
            return static_cast<std::int32_t>(done_ - last) >= 0 || write_now();
        };
        return HostWait(HostWait::Style::yield).until(written, longest);
    }

   private:
    // If the system has no thread to give, the next line tries again.
    void start() noexcept {
        if (started_.exchange(true)) return;
        try {
            keep_this_library();
            // SIGPIPE and SIGXFSZ of a write stay pending there.
            start_thread("carillon-lines", [this] { run(); }).detach();
        } catch (...) {
            started_ = false;
        }
    }
    [[noreturn]] void run() noexcept {
        for (;;) {
            std::uint32_t const seen = queued_;
            {
                std::lock_guard const lock(writing_);
                (void)write_all(true);
            }
            queued_.wait(seen);
        }
    }
    // Returns false if something is left.
    bool write_now() noexcept {
        std::unique_lock const lock(writing_, std::try_to_lock);
        if (!lock.owns_lock()) return false;
        NoSignalsOfWrites const quiet;
        return write_all(false);
    }
    bool write_all(bool waits) noexcept {
        while (next_ != nullptr || take_next()) {
            Taken const taken = write_line(*next_, waits);
            if (taken == Taken::some) return false;
            if (taken == Taken::none) lines_lost += told_ + 1;
            next_.reset();
            ++done_;
        }
        return true;
    }
    bool take_next() noexcept {
        std::string* line = nullptr;
        if (!queue_.pop(line)) return false;
        next_.reset(line);
        told_ = lines_lost;
        if (told_ == 0) return true;
        try {
            next_->insert(
                0, fmt::format(
                       "carillon: {} lines before this one were lost: stderr did not accept them\n",
                       told_));
            lines_lost -= told_;
        } catch (...) {  // no memory: the next line reports them
            told_ = 0;
        }
        return true;
    }

    boost::lockfree::queue<std::string*, boost::lockfree::capacity<most_queued>> queue_;
    std::atomic<std::uint32_t> queued_{0};
    std::atomic<std::uint32_t> done_{0};
    std::atomic<bool> started_{false};
    std::mutex writing_;                 // for the following members, and for writing
    std::unique_ptr<std::string> next_;  // the rest of the line being written
    std::uint64_t told_ = 0;             // lost lines that it reports
};

LineWriter& writer() { return PerProcess<LineWriter>::get(); }

void write_at_exit() {
    is_at_exit = true;
    (void)writer().wait_until_written(longest_at_exit);
}

}  // namespace

void say_line(std::string_view line) noexcept {
    static bool const registered =
        std::atexit(write_at_exit) == 0 && std::at_quick_exit(write_at_exit) == 0;
    (void)registered;
    try {
        auto text = std::make_unique<std::string>(line);
        if (!text->ends_with('\n')) text->push_back('\n');
        writer().say(std::move(text));
        if (is_at_exit) is_at_exit = writer().wait_until_written(longest_at_exit);
    } catch (...) {  // no memory
        ++lines_lost;
    }
}

bool lines_are_written(std::chrono::nanoseconds longest) noexcept {
    return writer().wait_until_written(longest);
}

}  // namespace carillon::detail
