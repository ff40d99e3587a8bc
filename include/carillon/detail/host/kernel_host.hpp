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
#include <thread>
#include <vector>

#include "carillon/channel.hpp"
#include "carillon/channel_memory.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/device.hpp"
#include "carillon/launch.hpp"
#include "carillon/placement_profile.hpp"
#include "carillon/wait.hpp"

namespace carillon {

enum class Placement : std::uint8_t {
    automatic,  // by the device's profile, if `carillon tune` has made one; otherwise anywhere
    off,        // anywhere
    tuned,      // by the profile, or without one by a short measurement; it throws if that fails
};

struct PersistentKernelOptions {
    unsigned blocks = 1;
    // 1: one thread polls the channel, the shortest round trip. 2 to 64: one warp watches them all
    // by their bells, a round trip is one more look at memory longer, and where several have
    // requests each waits for at most one of every other in turn (serve_watch).
    unsigned channels_per_block = 1;
    // Every block has a second channel, whose requests it serves before those of its first.
    bool express = false;
    std::uint32_t capacity = 256;  // slots of a channel, each way; a power of two up to 2^20
    std::chrono::nanoseconds start_timeout = std::chrono::seconds(10);
    // How long the destructor waits for the kernel to end.
    std::chrono::nanoseconds stop_timeout = std::chrono::seconds(5);
    // The kernel ends by itself after so long; 0 for never.
    std::chrono::nanoseconds lifetime{0};
    // The kernel ends by itself when this process has not shown for so long that it is there, as it
    // does ten times within it: the process is gone, stopped, or in a debugger. 10 ms or more, 0
    // for never; none: a second on a GPU, never on the emulated device, whose threads go with the
    // process.
    std::optional<std::chrono::nanoseconds> host_limit = std::nullopt;
    // A block that is at one request for longer is `stuck`.
    std::chrono::nanoseconds stuck_after = std::chrono::seconds(1);
    // What its blocks do while nothing comes. A block that sleeps looks for a stop at every poll.
    IdlePolicy idle = IdlePolicy::spin();
    // How its channels wait; none: HostWait::for_kernel chooses.
    std::optional<HostWait::Style> wait = std::nullopt;
    // Where the blocks and, of rings up to a page (64 slots), the channels are put: what the device
    // shows to be fast. The start takes longer then. One channel a block only.
    Placement placement = Placement::automatic;
    // What is known of the device, instead of the profile that is kept for it.
    std::shared_ptr<PlacementProfile const> profile = nullptr;
};

enum class KernelState : std::uint8_t {
    starting,  // not every block runs yet
    running,
    draining,  // takes no more requests, and answers those that it has
    stopped,   // every block has returned, or was told to and is about to
    failed,    // the device, or a handler, ended it by an error: running() throws it
};
[[nodiscard]] std::string_view to_string(KernelState state);

enum class BlockActivity : std::uint8_t {
    idle,   // looks for requests and finds none
    busy,   // has requests
    stuck,  // has been at one request for longer than stuck_after
    ended,
};
[[nodiscard]] std::string_view to_string(BlockActivity activity);

namespace detail {

class ExitHook;

// Throws UsageError, in the name of `owner`, for options that no kernel can have. The capacity is
// for whoever makes the rings.
void check_options(std::string_view owner, PersistentKernelOptions const& options);

// How long a kernel may hear nothing from its host; 0: for ever.
[[nodiscard]] std::chrono::nanoseconds host_silence_limit(PersistentKernelOptions const& options,
                                                          DeviceTraits const& traits);
[[nodiscard]] BlockLimits block_limits(PersistentKernelOptions const& options,
                                       DeviceTraits const& traits);

// A running kernel and its memory: what PersistentKernel does not need its types for.
class KernelHost final : public ChannelPeer {
   public:
    // All that may fail comes before the kernel is launched, which nothing could stop then.
    // `owner`: the class whose name its errors have. Throws SystemError. Whoever has it last ends
    // the kernel, and it stays where it is in a child that was forked, and where its thread sits in
    // the driver.
    [[nodiscard]] static std::shared_ptr<KernelHost> make(Device const& device,
                                                          std::shared_ptr<ChannelMemory> memory,
                                                          PersistentKernelOptions const& options,
                                                          std::string owner = "PersistentKernel");
    KernelHost(KernelHost const&) = delete;
    KernelHost& operator=(KernelHost const&) = delete;
    ~KernelHost() override = default;

    // Itself; throws ForkError, in the name of `call`, in a child.
    [[nodiscard]] KernelHost& of_this_process(std::string_view call) {
        mark_.require_own(call);
        return *this;
    }
    // Takes the kernel over and waits until every block has said that it runs. Throws TimeoutError.
    void run(RunningKernel kernel);
    // Waits until `answered`, from now on without a new request, and stops.
    void drain(std::function<bool()> const& answered, std::chrono::nanoseconds timeout);
    void stop(std::chrono::nanoseconds timeout);
    // As its owner goes: stops, waiting for at most options.stop_timeout.
    void end() noexcept;
    [[nodiscard]] bool running() const;
    [[nodiscard]] KernelState state() const;
    // Throws UsageError, in the name of the owner's `call`, for a block that is not.
    void require_block(std::string_view call, unsigned block) const;
    // `outstanding`: whether the block, which is there, has requests.
    [[nodiscard]] BlockActivity activity(unsigned block, bool outstanding) const;
    [[nodiscard]] unsigned blocks() const { return options_.blocks; }
    [[nodiscard]] unsigned multiprocessor(unsigned block) const;
    // Which of its two places for bells a block that has started watches.
    [[nodiscard]] unsigned place_of_bells(unsigned block) const;

    void require_open(std::string_view call) const override;
    void require_alive(std::string_view call) override;

   private:
    using Clock = std::chrono::steady_clock;
    // The last beat that was seen of a block, and when it was first seen.
    struct Beat {
        std::uint64_t value = 0;
        Clock::time_point since;
    };

    KernelHost(Device const& device, std::shared_ptr<ChannelMemory> memory,
               PersistentKernelOptions const& options, std::string owner);
    // As the last one who had it goes.
    static void let_go(KernelHost* host) noexcept;
    // Before the process takes the memory away; an object with static storage is there still.
    void end_at_exit() noexcept;
    // Waits until the thread has ended, for a while: it may be within the driver. False if it has
    // not, and uses this object on.
    [[nodiscard]] bool end_heart() noexcept;
    void await_start();
    void ask_to_stop();
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
    // The first of a block's channels has its control and status lines.
    [[nodiscard]] ChannelView leading_channel(unsigned block) const;

    ProcessMark mark_;
    Device device_;
    std::shared_ptr<ChannelMemory> memory_;
    PersistentKernelOptions options_;
    std::string owner_;
    std::chrono::nanoseconds host_limit_;
    std::atomic<KernelState> state_ = KernelState::starting;
    mutable std::mutex mutex_;
    mutable std::vector<Beat> beats_;  // of each block
    std::exception_ptr failure_;
    RunningKernel running_;  // goes first: the memory outlives the kernel
    std::atomic<bool> launched_ = false;
    std::condition_variable_any wake_;
    std::binary_semaphore heart_ended_{0};
    std::jthread heart_;       // ends before anything that it uses
    bool heart_left_ = false;  // within the driver
    std::unique_ptr<ExitHook> at_exit_;
};

}  // namespace detail
}  // namespace carillon
