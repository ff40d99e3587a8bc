// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/kernel_supervisor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/machine/process_fence.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/error.hpp"
#include "cpu/cpu.hpp"
#include "os/exit_hook.hpp"

namespace carillon::detail {
namespace {

// How often the host beats, and looks at the kernel's beats; ten times within its limit or more.
constexpr std::chrono::milliseconds longest_beat_period{25};
constexpr int beats_within_limit = 10;
constexpr std::chrono::seconds longest_watcher_wait{1};
// A shorter wait for a kernel's end does not count as one.
constexpr std::chrono::milliseconds shortest_told{1};
// The least time for a drained kernel to end, whatever the clients have left of a drain's time.
constexpr std::chrono::seconds shortest_end{1};

}  // namespace

std::shared_ptr<ChannelMemory> make_block_lines(Device const& device, unsigned blocks) {
    constexpr std::uint32_t smallest_capacity = 2;
    return std::make_shared<ChannelMemory>(device, blocks, smallest_capacity);
}

KernelSupervisor::KernelSupervisor(Device const& device, std::shared_ptr<ChannelMemory> memory,
                                   KernelOptions const& options, unsigned channels_per_block)
    : device_(device),
      memory_(std::move(memory)),
      options_(options),
      channels_per_block_(channels_per_block),
      host_limit_(host_silence_limit(options, device_.traits())),
      beats_(blocks_of(options), Beat{0, Clock::now()}),
      watcher_(start_thread("carillon-heart",
                            [this](std::stop_token const& stop) {
                                leave_pinned_cores();
                                keep_beating(stop);
                                watcher_ended_.release();
                            })),
      at_exit_(std::make_unique<ExitHook>([this] { end_at_exit(); })) {}

std::shared_ptr<KernelSupervisor> KernelSupervisor::make(Device const& device,
                                                         std::shared_ptr<ChannelMemory> memory,
                                                         KernelOptions const& options,
                                                         unsigned channels_per_block) {
    return {new KernelSupervisor(device, std::move(memory), options, channels_per_block),
            &KernelSupervisor::let_go};
}

void KernelSupervisor::let_go(KernelSupervisor* supervisor) noexcept {
    if (supervisor->mark_.inherited()) return;
    supervisor->end();
    supervisor->at_exit_.reset();     // nobody else ends the thread
    if (supervisor->end_watcher()) {  // it looks at the kernel until then
        supervisor->leave_kernel();
        delete supervisor;
    } else if (!process_exits()) {
        say_line(
            "carillon: the thread that watches a kernel has been in the driver for a second; the "
            "thread, the kernel and its memory are left in place");
    }
}

void KernelSupervisor::end_at_exit() noexcept {
    try {
        ask_to_stop();
    } catch (...) {  // the process ends anyway
    }
    keep_forever(memory_);
    (void)end_watcher();
}

bool KernelSupervisor::end_watcher() noexcept {
    if (!watcher_.joinable()) return !watcher_left_;
    watcher_.request_stop();
    watcher_left_ = !watcher_ended_.try_acquire_for(longest_watcher_wait);
    if (watcher_left_) {
        watcher_.detach();
    } else {
        watcher_.join();
    }
    return !watcher_left_;
}

void KernelSupervisor::end() noexcept {
    if (mark_.inherited() || leave_by_) return;
    leave_by_.emplace(options_.stop_timeout);
    if (at_exit_ == nullptr || at_exit_->has_run()) return;  // it has done everything possible
    try {
        stop(options_.stop_timeout);
    } catch (...) {  // a handler may throw anything; RunningKernel reports an abandoned kernel
    }
}

void KernelSupervisor::leave_kernel() noexcept {
    if (leave_by_) running_.leave(leave_by_->left(), options_.stop_timeout >= shortest_told);
}

void KernelSupervisor::run(RunningKernel kernel) {
    running_ = std::move(kernel);
    launched_ = true;
    HostWait const wait(HostWait::Style::yield);
    auto const all_started = [&] {
        for (unsigned i = 0; i < blocks(); ++i) {
            StatusLine const* status = leading_channel(i).status;
            if (!FlagReader<bool, HostCached>(&status->started).get()) return false;
        }
        return true;
    };
    auto const check_fault = [&] { (void)running_.finished(); };
    if (!wait.until(all_started, running_.start_by_.left(), check_fault)) {
        ask_to_stop();
        throw TimeoutError(
            "not every block had started within start_timeout: another kernel occupies the device, "
            "or streams share a hardware queue (CUDA_DEVICE_MAX_CONNECTIONS)");
    }
    // The watcher begins only after launch() has returned: a launch that waits for its kernel
    // leaves it without a heartbeat until then.
    if (end_reason() == EndReason::host_silent) {
        throw UnsupportedError(why_ended() +
                               ", because the launch waited for the kernel: unset "
                               "CUDA_LAUNCH_BLOCKING, or end the profiler or debugger");
    }
    state_ = KernelState::running;
}

ChannelView KernelSupervisor::leading_channel(unsigned block) const {
    return memory_->host_view().channel(block * channels_per_block_);
}

void KernelSupervisor::keep_beating(std::stop_token const& stop) {
    auto const period = std::min<std::chrono::nanoseconds>(
        longest_beat_period,
        host_limit_.count() == 0 ? longest_beat_period : host_limit_ / beats_within_limit);
    HostMapped const far = device_.access(memory_->device_memory());
    std::mutex asleep;
    std::unique_lock lock(asleep);
    for (std::uint64_t beat = 1; !stop.stop_requested(); ++beat) {
        if (launched_) beat_once(beat, far, 2 * period);
        wake_.wait_for(lock, stop, period, [] { return false; });
    }
}

void KernelSupervisor::beat_once(std::uint64_t beat, HostMapped const& far,
                                 std::chrono::nanoseconds longest_silence) {
    try {
        // A kernel that has ended may lose its context, and with it memory that CUDA allocated.
        KernelState const known = state_;
        bool const may_have_ended = known == KernelState::stopped || known == KernelState::failed;
        if (may_have_ended && running_.finished()) return;
        bool silent = false;
        for (unsigned i = 0; i < blocks(); ++i) {
            std::uint64_t* const word = &leading_channel(i).control->host_beat;
            FlagWriter<std::uint64_t, HostMapped>(word, far).set(beat);
            silent |= silent_for(i) > longest_silence;
        }
        // The driver is asked only if necessary: it may take a lock.
        KernelState state = KernelState::running;
        if (silent && state_ == state && !still_running()) {
            state_.compare_exchange_strong(state, KernelState::stopped);
        }
    } catch (...) {  // also memory that could not be flushed; the error is kept for later calls
        if (state_ != KernelState::stopped) keep_failure();
    }
}

KernelSupervisor::Clock::duration KernelSupervisor::silent_for(unsigned block) const {
    std::uint64_t const value = HostCached().load_word(&leading_channel(block).status->beat);
    std::lock_guard const lock(mutex_);
    Beat& beat = beats_[block];
    auto const now = Clock::now();
    if (value != beat.value) beat = {value, now, beat.seen + 1};
    return now - beat.since;
}

BlockBeats KernelSupervisor::beats(unsigned block) const {
    require_block(block);
    auto const age = silent_for(block);
    std::lock_guard const lock(mutex_);
    return {beats_[block].seen, age};
}

bool KernelSupervisor::still_running() {
    try {
        return !running_.finished();
    } catch (...) {
        keep_failure();
        throw;
    }
}

void KernelSupervisor::keep_failure() {
    std::lock_guard const lock(mutex_);
    state_ = KernelState::failed;
    if (failure_) return;
    failure_ = std::current_exception();
    try {
        throw;
    } catch (Error& error) {  // the object in `failure_`
        error.mark_ended_kernel();
    } catch (...) {  // an exception of a handler
    }
}

void KernelSupervisor::ask_to_stop() {
    told_to_stop_ = true;
    KernelState state = state_;  // a failure found meanwhile stays
    while (state != KernelState::failed &&
           !state_.compare_exchange_weak(state, KernelState::stopped)) {
    }
    HostMapped const far = device_.access(memory_->device_memory());
    std::exception_ptr failure;  // every block gets the order, even if that fails for some
    for (unsigned i = 0; i < blocks(); ++i) {
        try {
            std::uint64_t* const stop = &leading_channel(i).control->stop;
            FlagWriter<bool, HostMapped>(stop, far).set(true);
        } catch (...) {
            failure = std::current_exception();
        }
    }
    if (failure) std::rethrow_exception(failure);
}

void KernelSupervisor::drain(std::function<bool()> const& answered,
                             std::chrono::nanoseconds timeout) {
    Deadline const deadline(timeout);
    KernelState state = KernelState::running;
    state_.compare_exchange_strong(state, KernelState::draining);
    hear_announced();
    bool const ends = state == KernelState::stopped && drained_;
    bool const ended_by_itself = state == KernelState::stopped && !told_to_stop_;
    if (state != KernelState::running && state != KernelState::draining && !ends &&
        !ended_by_itself) {
        require_open();
    }
    auto const check = [&] { require_alive(); };
    if (!ends && !HostWait(HostWait::Style::yield).until(answered, timeout, check)) {
        throw TimeoutError("some requests are still unanswered after ", timeout,
                           ": a handler has not returned, replies not taken leave no room, or a "
                           "client in another process has not heard of the drain");
    }
    drained_ = true;
    ends_drained_ = true;
    if (ends_within(std::max<std::chrono::nanoseconds>(deadline.left(), shortest_end))) return;
    throw TimeoutError("all requests are answered, but the kernel has not ended within ", timeout,
                       ", nor within a second of the last answer; a handler may not have returned");
}

void KernelSupervisor::stop(std::chrono::nanoseconds timeout) {
    if (ends_within(timeout)) return;
    throw TimeoutError("the kernel has not ended within ", timeout,
                       "; a handler may not have returned");
}

bool KernelSupervisor::ends_within(std::chrono::nanoseconds timeout) {
    std::exception_ptr unheard;
    try {
        ask_to_stop();
    } catch (...) {  // it may hear of the stop anyway
        unheard = std::current_exception();
    }
    bool ended = false;
    try {
        ended = running_.wait(timeout);
    } catch (...) {
        keep_failure();
        throw;
    }
    if (ended) drained_ = false;
    if (!ended && unheard) std::rethrow_exception(unheard);
    return ended;
}

bool KernelSupervisor::running() const { return !running_.finished(); }

KernelState KernelSupervisor::state() const {
    try {
        if (running_.finished()) return KernelState::stopped;
    } catch (...) {
        return KernelState::failed;
    }
    return state_;
}

void KernelSupervisor::require_block(unsigned block) const {
    if (block < blocks()) return;
    throw UsageError(
        fmt::format("there is no block {}: the kernel has {} (from 0)", block, blocks()));
}

BlockActivity KernelSupervisor::activity(unsigned block, bool outstanding) const {
    StatusLine const* status = leading_channel(block).status;
    if (HostCached().load_word(&status->ended) != 0 || state() == KernelState::failed) {
        return BlockActivity::ended;
    }
    if (!outstanding) return BlockActivity::idle;
    return silent_for(block) > options_.stuck_after ? BlockActivity::stuck : BlockActivity::busy;
}

unsigned KernelSupervisor::sm(unsigned block) const {
    require_block(block);
    StatusLine const* status = leading_channel(block).status;
    return static_cast<unsigned>(HostCached().load_word(&status->sm));
}

unsigned KernelSupervisor::doorbell_page(unsigned block) const {
    // Not the word itself: an address is computed from it.
    return HostCached().load_word(&leading_channel(block).status->doorbell_page) != 0 ? 1 : 0;
}

void KernelSupervisor::require_open() const {
    // Relaxed, on the path of every call: other states lead to data that the mutex orders.
    KernelState const state = state_.load(std::memory_order_relaxed);
    if (state == KernelState::running) [[likely]]
        return;
    if (state == KernelState::failed) {
        std::lock_guard const lock(mutex_);
        std::rethrow_exception(failure_);
    }
    if (state == KernelState::draining) {
        throw StoppedError("the kernel is draining and takes no more requests");
    }
    if (ends_drained_) throw StoppedError("the kernel was drained and has stopped");
    throw StoppedError(told_to_stop_ ? "the kernel was stopped" : why_ended());
}

void KernelSupervisor::require_alive() {
    if (state_ != KernelState::draining) require_open();
    if (!still_running()) throw StoppedError(why_ended());
}

EndReason KernelSupervisor::end_reason() const {
    for (unsigned i = 0; i < blocks(); ++i) {
        StatusLine const* status = leading_channel(i).status;
        auto const reason = static_cast<EndReason>(HostCached().load_word(&status->ended));
        if (reason == EndReason::host_silent || reason == EndReason::lifetime) return reason;
    }
    return EndReason::none;
}

std::string KernelSupervisor::why_ended() const {
    switch (end_reason()) {
        case EndReason::host_silent:
            return fmt::format(
                "the kernel has ended: it had no heartbeat from this process for {} (host_limit)",
                duration_text(host_limit_));
        case EndReason::lifetime:
            return "the kernel has ended: its lifetime is over";
        default:
            return "the kernel has ended";
    }
}

}  // namespace carillon::detail
