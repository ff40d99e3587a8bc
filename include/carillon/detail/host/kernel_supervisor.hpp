// SPDX-License-Identifier: Apache-2.0
// The life of a persistent kernel, as the host follows it: start, heartbeats both ways, drain,
// stop.
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
#include <string_view>
#include <vector>

#include "carillon/channel_memory.hpp"
#include "carillon/counters.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/detail/host/deadline.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/host/thread.hpp"
#include "carillon/detail/kernel/block_control.hpp"
#include "carillon/device.hpp"
#include "carillon/device_traits.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"

namespace carillon::detail {

class ExitHook;

// How many blocks the options mean, those of a pool once it has chosen.
[[nodiscard]] inline unsigned blocks_of(KernelOptions const& options) {
    return options.blocks.value_or(1);
}
// How a kernel is launched: with that many threads in each block.
[[nodiscard]] inline LaunchShape launch_shape(KernelOptions const& options, unsigned threads) {
    return {
        .blocks = blocks_of(options), .threads = threads, .start_timeout = options.start_timeout};
}
// Throws UsageError for options that no kernel can have. The capacity is for whoever makes the
// rings.
void check_options(KernelOptions const& options);

// How long a kernel may hear nothing from its host; 0: for ever.
[[nodiscard]] std::chrono::nanoseconds host_silence_limit(KernelOptions const& options,
                                                          DeviceTraits const& traits);
[[nodiscard]] BlockLimits block_limits(KernelOptions const& options, DeviceTraits const& traits);

// Channels of which blocks use the control and status lines alone; their rings stay empty.
[[nodiscard]] std::shared_ptr<ChannelMemory> make_block_lines(Device const& device,
                                                              unsigned blocks);

// A running kernel and its memory: what PersistentKernel does not need its types for.
class KernelSupervisor final : public ChannelPeer {
   public:
    // All that may fail comes before the kernel is launched, which nothing could stop then.
    // The first of a block's channels in `memory` has its control and status lines. Throws
    // SystemError. Whoever has it last ends the kernel, and it stays where it is in a child that
    // was forked, and where its thread sits in the driver.
    [[nodiscard]] static std::shared_ptr<KernelSupervisor> make(
        Device const& device, std::shared_ptr<ChannelMemory> memory, KernelOptions const& options,
        unsigned channels_per_block = 1);
    KernelSupervisor(KernelSupervisor const&) = delete;
    KernelSupervisor& operator=(KernelSupervisor const&) = delete;
    ~KernelSupervisor() override = default;

    // Itself; throws ForkError in a child.
    [[nodiscard]] KernelSupervisor& of_this_process() {
        mark_.require_own();
        return *this;
    }
    // Takes the kernel over and waits until every block has said that it runs, for what the launch
    // has left of start_timeout. Throws TimeoutError.
    void run(RunningKernel kernel);
    // Waits until `answered`, from now on without a new request, and stops.
    void drain(std::function<bool()> const& answered, std::chrono::nanoseconds timeout);
    void stop(std::chrono::nanoseconds timeout);
    // As its owner goes: stops, waiting for at most options.stop_timeout.
    void end() noexcept;
    [[nodiscard]] bool running() const;
    [[nodiscard]] KernelState state() const;
    // Throws UsageError for a block that is not.
    void require_block(unsigned block) const;
    // `outstanding`: whether the block, which is there, has requests.
    [[nodiscard]] BlockActivity activity(unsigned block, bool outstanding) const;
    [[nodiscard]] unsigned blocks() const { return blocks_of(options_); }
    [[nodiscard]] unsigned sm(unsigned block) const;
    [[nodiscard]] BlockBeats beats(unsigned block) const;  // of one that is there
    // Which of its two pages for doorbells a block that has started watches.
    [[nodiscard]] unsigned doorbell_page(unsigned block) const;

    void require_open() const override;
    void require_alive() override;

   private:
    using Clock = std::chrono::steady_clock;
    // The last beat that was seen of a block, and when it was first seen.
    struct Beat {
        std::uint64_t value = 0;
        Clock::time_point since;
        std::uint64_t seen = 0;  // how many others
    };

    KernelSupervisor(Device const& device, std::shared_ptr<ChannelMemory> memory,
                     KernelOptions const& options, unsigned channels_per_block);
    // As the last one who had it goes.
    static void let_go(KernelSupervisor* supervisor) noexcept;
    // Before the process takes the memory away; an object with static storage is there still.
    void end_at_exit() noexcept;
    // Waits until the thread has ended, for a while: it may be within the driver. False if it has
    // not, and uses this object on.
    [[nodiscard]] bool end_heart() noexcept;
    // For what end() has left of its time, and says so where the kernel has not ended.
    void leave_kernel() noexcept;
    void await_start();
    void ask_to_stop();
    // Asks it to stop, and says whether it has ended then.
    [[nodiscard]] bool ends_within(std::chrono::nanoseconds timeout);
    // Lets the kernel know, again and again, that this process is there, and watches its beats.
    void keep_beating(std::stop_token const& stop);
    void beat_once(std::uint64_t beat, HostMapped const& far,
                   std::chrono::nanoseconds longest_silence);
    // How long ago the beat of a block was another; looks at it.
    Clock::duration silent_for(unsigned block) const;
    // The same as running(), and keeps an error for all later calls.
    bool still_running();
    void keep_failure();
    [[nodiscard]] std::string why_ended() const;
    // Why one of its blocks ended by itself; none if none did.
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
    std::atomic<bool> drained_ = false;  // all is answered, and nobody has seen it end
    std::exception_ptr failure_;
    RunningKernel running_;  // goes first: the memory outlives the kernel
    std::optional<Deadline> leave_by_;
    std::atomic<bool> launched_ = false;
    std::condition_variable_any wake_;
    std::binary_semaphore heart_ended_{0};
    Thread heart_;             // ends before anything that it uses
    bool heart_left_ = false;  // within the driver
    std::unique_ptr<ExitHook> at_exit_;
};

}  // namespace carillon::detail
