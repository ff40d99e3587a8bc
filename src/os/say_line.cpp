// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/say_line.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <atomic>
#include <boost/lockfree/queue.hpp>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>

#include "carillon/detail/host/start_thread.hpp"
#include "carillon/wait.hpp"
#include "os/process.hpp"
#include "os/retried.hpp"

namespace carillon::detail {
namespace {

constexpr std::size_t most_queued = 256;
constexpr std::chrono::milliseconds longest_at_exit{200};

std::atomic<bool> is_at_exit{false};
std::atomic<std::uint64_t> lines_lost{0};  // that no line has told of yet

// False: stderr does not take it.
bool write_line(std::string_view rest) noexcept {
    while (!rest.empty()) {
        auto const n = retried([&] { return ::write(STDERR_FILENO, rest.data(), rest.size()); });
        if (n < 0 && errno == EAGAIN) {
            ::pollfd room{STDERR_FILENO, POLLOUT, 0};
            (void)::poll(&room, 1, -1);
        } else if (n < 0) {
            return false;
        } else {
            rest.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    return true;
}

// The thread does not end, so its code has to stay where it is, too.
void keep_this_library() noexcept {
    ::Dl_info info{};
    if (::dladdr(reinterpret_cast<void const*>(&write_line), &info) == 0) return;
    (void)::dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

// The queue and its thread.
class LineWriter {
   public:
    void say(std::unique_ptr<std::string> line) noexcept {
        if (queue_.bounded_push(line.get())) {
            (void)line.release();
            ++queued_;
            queued_.notify_one();
        } else {
            ++lines_lost;
        }
        start();
    }
    bool wait_until_written(std::chrono::nanoseconds longest) const noexcept {
        std::uint32_t const last = queued_;
        auto const written = [&] { return static_cast<std::int32_t>(done_ - last) >= 0; };
        return HostWait(HostWait::Style::yield).until(written, longest);
    }

   private:
    // Where the system gives no thread, the next line tries again.
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
            for (std::string* next = nullptr; queue_.pop(next); ++done_) {
                write(std::unique_ptr<std::string>(next));
            }
            queued_.wait(seen);
        }
    }
    void write(std::unique_ptr<std::string> const& line) noexcept {
        std::uint64_t const lost = lines_lost;
        if (lost != 0 && tell_lost(lost)) lines_lost -= lost;
        if (!write_line(*line)) ++lines_lost;
    }
    static bool tell_lost(std::uint64_t lost) noexcept {
        try {
            return write_line(fmt::format(
                "carillon: {} lines before this one were lost: stderr did not take them\n", lost));
        } catch (...) {
            return false;
        }
    }

    boost::lockfree::queue<std::string*, boost::lockfree::capacity<most_queued>> queue_;
    std::atomic<std::uint32_t> queued_{0};
    std::atomic<std::uint32_t> done_{0};
    std::atomic<bool> started_{false};
};

LineWriter& writer() { return PerProcess<LineWriter>::get(); }

void write_at_exit() {
    is_at_exit = true;
    (void)writer().wait_until_written(longest_at_exit);
}

}  // namespace

void say_line(std::string_view line) noexcept {
    static bool const registered = std::atexit(write_at_exit) == 0;
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
