// SPDX-License-Identifier: Apache-2.0
// The life of a persistent kernel, on the host: start, heartbeats both ways, drain and stop.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <semaphore>
#include <stop_token>
#include <string>
#include <vector>

#include "carillon/channel_memory.hpp"  // IWYU pragma: export
#include "carillon/detail/host/channel_parts.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/kernel_options.hpp"  // IWYU pragma: export
#include "carillon/launch.hpp"          // IWYU pragma: export

namespace carillon::detail {

class ExitHook;

// The number of blocks, which a pool has chosen by then.
[[nodiscard]] inline unsigned blocks_of(KernelOptions const& options) {
    return options.blocks.value_or(1);
}
// The launch of a kernel with `threads` threads in each block.
[[nodiscard]] inline LaunchShape launch_shape(KernelOptions const& options, unsigned threads) {
    return {
        .blocks = blocks_of(options), .threads = threads, .start_timeout = options.start_timeout};
}
// Throws UsageError for options that no kernel can have, except the capacity.
void check_options(KernelOptions const& options);
// Chooses a pool's number of blocks if the options do not give it. Throws UsageError for options of
// another way than `Requests`.
template <class Requests>
void settle(Device const& device, KernelOptions& options);

// How long a kernel lives without a heartbeat of its host; 0: forever.
[[nodiscard]] std::chrono::nanoseconds host_silence_limit(KernelOptions const& options,
                                                          DeviceTraits const& traits);
// For a body whose blocks have their control and status lines in `memory`.
[[nodiscard]] KernelBlocks kernel_blocks(Device const& device, KernelOptions const& options,
                                         ChannelMemory const& memory);

// Channels for the blocks' control and status lines; their rings stay empty.
[[nodiscard]] std::shared_ptr<ChannelMemory> make_block_lines(Device const& device,
                                                              unsigned blocks);

// A running kernel and its memory: the part of PersistentKernel that is independent of its types.
class KernelSupervisor final : public ChannelPeer {
   public:
    // All that may fail comes before the launch, because nothing could stop the kernel then. The
    // first of a block's channels in `memory` has its control and status lines. Throws SystemError.
    // The last shared_ptr ends the kernel. The object is never destroyed in a forked child, nor
    // while its thread is stuck in the driver.
    [[nodiscard]] static std::shared_ptr<KernelSupervisor> make(
        Device const& device, std::shared_ptr<ChannelMemory> memory, KernelOptions const& options,
        unsigned channels_per_block = 1);
    KernelSupervisor& operator=(KernelSupervisor&&) = delete;

    void require_own() const { mark_.require_own(); }
    // Takes the kernel over; waits for the rest of start_timeout until every block runs. Throws
    // TimeoutError.
    void run(RunningKernel kernel);
    // Accepts no new requests, waits until `answered`, and stops.
    void drain(std::function<bool()> const& answered, std::chrono::nanoseconds timeout);
    void stop(std::chrono::nanoseconds timeout);
    // Stops at the owner's end, waiting at most options.stop_timeout.
    void end() noexcept;
    [[nodiscard]] bool running() const;
    [[nodiscard]] KernelState state() const;
    // Like sm() and beats(), throws UsageError for a block that does not exist.
    void require_block(unsigned block) const;
    // `outstanding`: whether the existing block has requests.
    [[nodiscard]] BlockActivity activity(unsigned block, bool outstanding) const;
    [[nodiscard]] unsigned blocks() const { return blocks_of(options_); }
    [[nodiscard]] unsigned sm(unsigned block) const;
    [[nodiscard]] BlockBeats beats(unsigned block) const;
    // The one of its two doorbell pages that a started block watches.
    [[nodiscard]] unsigned doorbell_page(unsigned block) const;

    void require_open() const override;
    void require_alive() override;

   private:
    using Clock = std::chrono::steady_clock;
    // The last heartbeat of a block, and when it was first seen.
    struct Beat {
        std::uint64_t value = 0;
        Clock::time_point since;
        std::uint64_t seen = 0;  // number of heartbeats seen
    };

    KernelSupervisor(Device const& device, std::shared_ptr<ChannelMemory> memory,
                     KernelOptions const& options, unsigned channels_per_block);
    // Deleter of the last shared_ptr.
    static void let_go(KernelSupervisor* supervisor) noexcept;
    // Runs before the process unmaps the memory; static objects may still exist then.
    void end_at_exit() noexcept;
    // Waits for a while until the thread has ended, which may be within the driver. Returns false
    // if it has not ended, and still uses this object.
    [[nodiscard]] bool end_watcher() noexcept;
    // Waits for the rest of end()'s time, and reports a kernel that has not ended on stderr.
    void leave_kernel() noexcept;
    void ask_to_stop();
    // Asks the kernel to stop, and returns whether it ended within `timeout`.
    [[nodiscard]] bool ends_within(std::chrono::nanoseconds timeout);
    // Sends heartbeats to the kernel, and watches those of its blocks.
    void keep_beating(std::stop_token const& stop);
    void beat_once(std::uint64_t beat, HostMapped const& far,
                   std::chrono::nanoseconds longest_silence);
    // Time since this block's heartbeat last changed. Reads the heartbeat.
    Clock::duration silent_for(unsigned block) const;
    // Like running(), and keeps an error for all later calls.
    bool still_running();
    void keep_failure();
    [[nodiscard]] std::string why_ended() const;
    // The reason why one of its blocks ended itself; none if none did.
    [[nodiscard]] EndReason end_reason() const;
    [[nodiscard]] ChannelView leading_channel(unsigned block) const;

    ProcessMark mark_;
    Device device_;
    std::shared_ptr<ChannelMemory> memory_;
    KernelOptions options_;
    unsigned channels_per_block_;
    std::chrono::nanoseconds host_limit_;
    std::atomic<KernelState>& state_ = own_state();
    mutable std::mutex mutex_;
    mutable std::vector<Beat> beats_;  // of each block
    std::atomic<bool> told_to_stop_ = false;
    std::atomic<bool> drained_ = false;       // all is answered, but its end was not seen yet
    std::atomic<bool> ends_drained_ = false;  // a drain, not a stop, told it to end
    std::exception_ptr failure_;
    RunningKernel running_;  // destroyed first: the memory outlives the kernel
    std::optional<Deadline> leave_by_;
    std::atomic<bool> launched_ = false;
    std::condition_variable_any wake_;
    std::binary_semaphore watcher_ended_{0};
    Thread watcher_;             // ends before anything that it uses
    bool watcher_left_ = false;  // abandoned within the driver
    std::unique_ptr<ExitHook> at_exit_;
};

}  // namespace carillon::detail
