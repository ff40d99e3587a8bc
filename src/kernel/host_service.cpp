// SPDX-License-Identifier: Apache-2.0
#include "carillon/host_service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <exception>
#include <mutex>
#include <stop_token>
#include <string>

#include "carillon/detail/host/argument_checks.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/mpmc_ring.hpp"
#include "cpu/cpu.hpp"
#include "error/sizes.hpp"
#include "os/exit_hook.hpp"

namespace carillon {

std::string_view to_string(HostCallResult result) {
    static constexpr std::array<std::string_view, 4> names{"answered", "timed out", "no room",
                                                           "failed"};
    return names.at(static_cast<std::size_t>(result));
}

namespace detail {
namespace {

using Clock = std::chrono::steady_clock;

// One credit crosses the bus for this many requests; they must fit beside a warp's messages.
constexpr std::uint32_t stripe = 16;
constexpr std::uint32_t least_capacity = 32;

MpmcRingOptions ring_options(std::uint32_t capacity, Sequence first) {
    check_capacity(capacity);
    if (capacity < least_capacity) {
        throw UsageError(
            fmt::format("a capacity of {} is too small: a warp's messages need at least {}",
                        capacity, least_capacity));
    }
    return {.capacity = capacity,
            .stripe = capacity > least_capacity ? stripe : 1,
            .producers = 1,
            .for_tests = {.first = first}};
}

// The bytes of the slots' lines, up to the words.
std::size_t lines_size(std::size_t slots) {
    constexpr std::size_t page = 4096;
    return (slots * sizeof(Line) + page - 1) / page * page;
}

}  // namespace

void ServiceFailures::keep() {
    std::lock_guard const lock(mutex_);
    if (!first_) first_ = kept_exception();
    ++count_;
}

void ServiceFailures::rethrow_first() const {
    std::lock_guard const lock(mutex_);
    if (first_) std::rethrow_exception(first_);
}

namespace {

// Takes requests and passes on payload and number; returns whether there were any.
using Poll = std::function<bool(std::function<void(PayloadWords const&, Sequence)> const&)>;

template <std::size_t quads>
Poll poll_of_quads(MpmcRingView const& ring, HostMapped const& far) {
    struct Words {
        std::uint32_t word[quads * payload_words_per_quad];
    };
    return [consumer = MpmcConsumer<Words, HostCached, HostMapped, OneThread>(
                ring, HostCached(), far)](auto const& use) mutable {
        return consumer.poll([&](Words const& words, Sequence number) {
            PayloadWords payload{};
            std::memcpy(&payload, &words, sizeof(words));
            use(payload, number);
        });
    };
}

// For requests that fill this many quads of their line.
Poll poll_of(std::uint32_t quads, MpmcRingView const& ring, HostMapped const& far) {
    constexpr std::array polls{&poll_of_quads<1>, &poll_of_quads<2>, &poll_of_quads<3>,
                               &poll_of_quads<4>};
    return polls.at(quads - 1)(ring, far);
}

}  // namespace

// The state of the thread, which outlives a server that could not wait for the thread.
class RequestServer::State {
   public:
    State(std::string_view owner, Device const& device, std::uint32_t quads, std::uint32_t capacity,
          Sequence first, ServiceThreadOptions const& options, Serve serve)
        : owner_(owner),
          memory_(device, ring_options(capacity, first), Direction::to_host, {.quads = quads}),
          poll_(poll_of(quads, memory_.host_view(), device.access(memory_.device_memory()))),
          options_(options),
          wait_(HostWait::for_kernel(device.traits(), 1, options.wait)),
          serve_(std::move(serve)),
          served_(first - 1) {}

    [[nodiscard]] std::string const& owner() const { return owner_; }
    [[nodiscard]] MpmcRingMemory const& memory() const { return memory_; }
    [[nodiscard]] ServiceFailures const& failures() const { return failures_; }

    // The thread's body.
    void run(std::stop_token const& stop) {
        runs_here = this;
        leave_pinned_cores();
        try {
            auto const found = [&] { return poll() || stop.stop_requested(); };
            bool const sleeps = options_.sleep.count() > 0;
            for (bool news = true; !stop.stop_requested();) {
                // After a sleep it looks once: it spins only if requests came lately.
                news = wait_.until(found, !sleeps ? round : news ? options_.spin : once);
                if (!news && sleeps) sleep(stop);
            }
            Sequence const last = sent();
            auto const serve_rest = [&] {
                (void)poll();
                return served_ >= last;
            };
            (void)HostWait(HostWait::Style::yield).until(serve_rest, options_.stop_timeout);
        } catch (...) {  // non-coherent memory could not be invalidated
            failures_.keep();
        }
        std::lock_guard const lock(mutex_);
        ended_ = true;
        wake_.notify_all();
    }

    // Whether the stopped thread ended in time: it may serve the rest for stop_timeout, and be in a
    // function for as long again. A function of the service that calls this gets false.
    [[nodiscard]] bool wait_for_end() {
        if (runs_here == this) return false;
        Deadline const deadline =
            Deadline(options_.stop_timeout) + std::max(options_.stop_timeout, least_grace);
        std::unique_lock lock(mutex_);
        return wake_.wait_until(lock, deadline.at(), [this] { return ended_; });
    }
    [[nodiscard]] bool has_ended() {
        std::lock_guard const lock(mutex_);
        return ended_;
    }

    // The last number that a device thread has claimed. It is read across the bus: not for fast
    // paths.
    [[nodiscard]] Sequence sent() const {
        return HostCached(memory_.device_memory().range_sync())
            .load_word(memory_.host_view().claimed);
    }
    [[nodiscard]] Sequence served() const { return served_; }

   private:
    static constexpr std::chrono::nanoseconds once{0};
    // A thread that is in no function ends within this time.
    static constexpr std::chrono::nanoseconds least_grace = std::chrono::milliseconds(100);
    static constexpr std::chrono::nanoseconds round = std::chrono::milliseconds(1);

    static inline thread_local State const* runs_here = nullptr;

    bool poll() {
        try {
            return poll_([this](PayloadWords const& payload, Sequence number) {
                try {
                    serve_(payload, failures_);
                } catch (...) {
                    failures_.keep();
                }
                // A release: a waiter that sees the number sees the function's effects.
                served_.store(number, std::memory_order_release);
            });
        } catch (...) {  // memory could not be flushed: the next requests are served
            failures_.keep();
            return false;
        }
    }

    // A stop wakes it from a long sleep; a short sleep is cheaper without that.
    void sleep(std::stop_token const& stop) {
        if (options_.sleep <= round) return std::this_thread::sleep_for(options_.sleep);
        std::unique_lock lock(mutex_);
        wake_.wait_until(lock, stop, Deadline(options_.sleep).at(), [] { return false; });
    }

    std::string owner_;
    MpmcRingMemory memory_;
    Poll poll_;
    ServiceThreadOptions options_;
    HostWait wait_;
    Serve serve_;
    std::atomic<Sequence> served_;  // every number up to it was served
    ServiceFailures failures_;
    std::mutex mutex_;
    bool ended_ = false;
    std::condition_variable_any wake_;
};

RequestServer::RequestServer(std::string_view owner, Device const& device, std::uint32_t quads,
                             std::uint32_t capacity, Sequence first,
                             ServiceThreadOptions const& options, Serve serve)
    : state_(std::make_shared<State>(owner, device, quads, capacity, first, options,
                                     std::move(serve))),
      thread_(start_thread("carillon-host",
                           [state = state_](std::stop_token const& stop) { state->run(stop); })),
      at_exit_(std::make_unique<ExitHook>([state = state_, stop = thread_.get_stop_source()] {
          stop.request_stop();
          (void)state->wait_for_end();
      })) {}

RequestServer::~RequestServer() {
    thread_.request_stop();
    if (thread_.is_current()) {  // its function destroys it, and returns later
        thread_.detach();
        return;
    }
    // A hook that has run has waited.
    if (at_exit_->has_run() ? state_->has_ended() : state_->wait_for_end()) return;
    say_line("carillon: the function of a " + state_->owner() +
             " had not returned when its owner was destroyed; the function and its data are left "
             "in place until the process ends");
    keep_forever(std::move(state_));
    thread_.detach();
}

MpmcRingView RequestServer::device_view() const { return state_->memory().device_view(); }

void RequestServer::flush(std::chrono::nanoseconds timeout) const {
    Sequence const last = state_->sent();
    auto const all_served = [&] { return state_->served() >= last; };
    if (HostWait(HostWait::Style::yield).until(all_served, timeout)) return;
    throw TimeoutError("after ", timeout,
                       fmt::format(" {} requests are still not served", last - state_->served()));
}

std::uint64_t RequestServer::failures() const { return state_->failures().count(); }
void RequestServer::rethrow_failure() const { state_->failures().rethrow_first(); }

ReplyMemory::ReplyMemory(Device const& device, std::uint32_t slots, Sequence first)
    : slots_(slots),
      memory_([&] {
          require_reply_slots(slots);
          // The device writes to pages in which the host flushes nothing.
          return device.allocate(lines_size(slots) +
                                 (std::size_t{slots} + 1) * sizeof(std::uint64_t));
      }()),
      writer_(view_at(memory_.host_ptr()), device.access(memory_)) {
    format_reply_slots(view_at(memory_.host_ptr()), first);
    memory_.flush(0, memory_.size());
}

ReplySlots ReplyMemory::view_at(void* begin) const {
    auto* const words =
        reinterpret_cast<std::uint64_t*>(static_cast<std::byte*>(begin) + lines_size(slots_));
    return {static_cast<Line*>(begin), words, words + slots_, slots_};
}

}  // namespace detail
}  // namespace carillon
