// SPDX-License-Identifier: Apache-2.0
// A client's connection to an owner: questions and their answers, and what the owner says unasked.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "carillon/connection.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/error.hpp"
#include "carillon/memory.hpp"
#include "os/unix_socket.hpp"
#include "serving/client_messages.hpp"

namespace carillon::detail {

class ClientSession;

struct OwnerAnswer {
    Message message;
    std::vector<FileDescriptor>
        descriptors;  // none if they were lost: this process may open no more
};

// An answer of the kind that the question asks for. Throws ProtocolError for another kind.
template <class Expected>
[[nodiscard]] Expected& said(OwnerAnswer& answer) {
    if (auto* const expected = std::get_if<Expected>(&answer.message)) return *expected;
    throw ProtocolError("the owner's answer does not fit the question");
}

// How long to wait after `error` before the next try, where an owner is asked for something; 0: no
// try would help.
[[nodiscard]] std::chrono::milliseconds pause_of_attach(Error const& error);

// Returns what `attempt` returns, and tries again for so long as ConnectOptions::wait_for_owner
// says. Throws what the last attempt throws, and what `pause_of` throws.
template <class Pause, class Attempt>
[[nodiscard]] auto keep_trying(std::chrono::nanoseconds wait, Pause const& pause_of,
                               Attempt const& attempt) {
    Deadline const deadline(wait);
    for (;;) {
        try {
            return attempt();
        } catch (Error const& error) {
            std::chrono::nanoseconds const pause = pause_of(error);
            if (deadline.passed() || pause.count() == 0) throw;
            std::this_thread::sleep_for(std::min(deadline.left(), pause));
        }
    }
}

// Any thread may call it. A caller that waits for an answer reads the socket; if several wait, one
// reads for all of them. From the first lease on, a thread of the link reads: the state of kernels
// has to be heard then though nobody waits.
class Link {
   public:
    using Lock = std::unique_lock<std::mutex>;

    // Connects and introduces itself, and tries again as options.wait_for_owner says. Throws as
    // Connection's constructor.
    [[nodiscard]] static std::shared_ptr<Link> connect(std::filesystem::path const& path,
                                                       ConnectOptions options);
    // Another connection to the same owner, as connect(). It waits for room in that owner, and not
    // for another owner. Throws OwnerGoneError if the owner has gone, or another has its path.
    [[nodiscard]] std::shared_ptr<Link> again() const;
    ~Link() { stop_listening(); }

    [[nodiscard]] ConnectedOwner const& owner() const { return owner_; }
    [[nodiscard]] ConnectOptions const& options() const { return options_; }
    // The deadline of an answer that is asked for now.
    [[nodiscard]] Deadline due() const { return Deadline(options_.timeout); }
    // A listener locks with it what it shares with the link.
    [[nodiscard]] Lock lock() const { return Lock(mutex_); }

    // Sends a question and waits for its answer. `meanwhile` is called when the question is on its
    // way. It sends no Attach again that the owner has not answered. Throws RefusedError,
    // TimeoutError, OwnerGoneError, ProtocolError.
    [[nodiscard]] OwnerAnswer ask(Message const& question, Deadline const& deadline,
                                  std::function<void()> const& meanwhile = nullptr);
    // Sends a message that asks for no answer: at once, or when the socket has room. It does
    // nothing if the owner has gone.
    void tell(Message const& message) noexcept {
        Lock const lock(mutex_);
        (void)say(message);
    }
    // Call it with the lock. False: there is no memory or no room for the message.
    bool tell(Lock const& /*lock*/, Message const& message) noexcept { return say(message); }

    // Returns what `attempt` returns, which asks for memory. It tries host memory the second time,
    // if the GPU's cannot be mapped here. Throws UnsupportedError if that was host memory already.
    template <class Attempt>
    [[nodiscard]] auto in_either_memory(bool& host_memory, Attempt const& attempt) {
        std::string why;
        try {
            return attempt();
        } catch (UnsupportedError const& error) {  // no Vulkan here, or none for this GPU
            why = error.what();
        } catch (VulkanError const& error) {
            why = error.what();
        }
        if (host_memory) throw UnsupportedError(why);
        host_memory = true;
        auto made = attempt();
        Lock const lock(mutex_);
        why_host_memory_ = std::move(why);
        return made;
    }
    // Why the last attempt took host memory; empty: none did.
    [[nodiscard]] std::string why_host_memory() const {
        Lock const lock(mutex_);
        return why_host_memory_;
    }

    // The next message about sealed buffers, if it comes in time. Throws as ask().
    [[nodiscard]] std::optional<OwnerAnswer> next_news(Deadline const& deadline);
    // Gives back the buffers among the news that nobody has taken.
    void drop_news() noexcept {
        Lock const lock(mutex_);
        for (OwnerAnswer const& each : news_) give_back(each);
        news_.clear();
        watch_room();
    }
    // How many buffers have come unasked.
    [[nodiscard]] std::uint64_t came_unasked() const {
        Lock const lock(mutex_);
        return came_unasked_;
    }
    // Readable while next_news() has something to do. Its first call throws SystemError.
    [[nodiscard]] int descriptor();

    // Whether the connection is known to be over.
    [[nodiscard]] bool gone() const {
        Lock const lock(mutex_);
        return over();
    }
    [[nodiscard]] bool gone(Lock const& /*lock*/) const { return !gone_.empty(); }
    // Looks whether the owner has gone, and throws OwnerGoneError if it has.
    void require_owner() const;
    // Throws what has become of the owner, if it has gone. Call it with the lock.
    void require_there(Lock const& /*lock*/) const {
        if (gone_.empty()) return;
        if (talks_nonsense_) throw ProtocolError(gone_);
        throw OwnerGoneError(gone_);
    }

    // Starts the thread that receives news of leases, if none runs. `listener` gets the messages
    // until stop_listening(). Throws SystemError.
    void listen(ClientSession& listener);
    void stop_listening() noexcept;
    // Makes the thread look at the leases.
    void wake() const noexcept { wakeup_.wake(); }

   private:
    struct Untold {
        std::uint32_t id;
        std::vector<std::byte> bytes;
    };

    Link(std::filesystem::path const& path, ConnectOptions const& options);
    [[nodiscard]] static std::shared_ptr<Link> reach(std::filesystem::path const& path,
                                                     ConnectOptions const& options);

    // All of these need the lock.
    // The number of a question that is on its way.
    [[nodiscard]] std::uint32_t begin(Message const& question);
    void give_up(std::uint32_t id, Message const& question);
    void send(std::uint32_t id, Message const& message) {
        untold_.push_back({id, encode(id, message)});
        flush();
        if (!untold_.empty()) wakeup_.wake();
    }
    bool say(Message const& message) noexcept;
    void flush();
    // Waits until there() or the connection is over; false: the time is up.
    template <class There>
    [[nodiscard]] bool await(Lock& lock, Deadline const& deadline, There const& there);
    [[nodiscard]] bool over() const { return refused_ || !gone_.empty(); }
    // Sleeps without the lock until there is something to receive, to send, or to look at.
    template <class There>
    void sleep(Lock& lock, Deadline const& deadline, There const& there);
    // Takes what has come, up to the message for which the caller waits. False: it was all.
    template <class There>
    [[nodiscard]] bool receive(There const& there);
    void hear(SocketMessage received);
    void hear_unasked(std::uint32_t id, OwnerAnswer answer);
    // Gives back an answer for which nobody waits any more.
    void give_back(OwnerAnswer const& answer) noexcept;
    void require_connected(Lock const& lock) const {
        if (refused_) throw RefusedError(refused_->reason, refused_->text);
        require_there(lock);
    }
    void lose_owner(std::string why, bool talks_nonsense = false) noexcept;
    // Chooses the events for which descriptor() is readable.
    void watch_room() noexcept;

    void run(std::stop_token const& stop);

    std::filesystem::path path_;  // for again()
    ConnectOptions options_;
    UnixSocket socket_;
    FileDescriptor owners_end_;
    Wakeup wakeup_;
    ConnectedOwner owner_;
    mutable std::mutex mutex_;  // for all that follows
    std::condition_variable changed_;
    bool reads_ = false;  // a thread sleeps in poll(), and receives next
    std::uint32_t last_id_ = 0;
    std::map<std::uint32_t, std::optional<OwnerAnswer>> awaited_;
    // Questions that the owner has not answered before the caller's timeout.
    std::map<std::uint32_t, Attach> given_up_;
    std::deque<Untold> untold_;     // waits for room in the socket
    std::deque<OwnerAnswer> news_;  // of sealed buffers
    bool wants_news_ = false;       // it has asked for them; others are given back
    std::uint64_t came_unasked_ = 0;
    std::optional<Refused> refused_;  // the connection, whatever is asked
    std::string gone_;                // why the owner has gone; empty while it has not
    bool talks_nonsense_ = false;     // it has gone for that
    std::string why_host_memory_;
    FileDescriptor watched_;  // of descriptor(): an epoll of the socket
    bool watches_room_ = false;
    ClientSession* listener_ = nullptr;
    Thread thread_;
};

}  // namespace carillon::detail
