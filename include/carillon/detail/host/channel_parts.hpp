// SPDX-License-Identifier: Apache-2.0
// The parts of the CPU's ends of channels and objects, and their link to the kernel. The memory is
// this process's own, or leased from another process.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/error.hpp"
#include "carillon/kernel_state.hpp"
#include "carillon/wait.hpp"

namespace carillon {
class ChannelMemory;
class CARILLON_LAYOUT Device;
}  // namespace carillon

namespace carillon::detail {

// A channel's link to the kernel at its other end.
class ChannelPeer {
   public:
    virtual ~ChannelPeer() = default;
    // The kernel's state: every request looks at it, and proceeds if it is `running`. It is on a
    // line that is rarely written.
    [[nodiscard]] std::atomic<KernelState> const& state_word() const { return line_.state; }
    // Whether the kernel may still answer, as far as is known: one look at that word.
    [[nodiscard]] bool answers() const {
        // Acquire: makes replies visible that came before the kernel was known to have ended.
        KernelState const state = line_.state.load(std::memory_order_acquire);
        return state == KernelState::running || state == KernelState::draining;
    }
    // Throws StoppedError, or the error that ended the kernel, if it accepts no more requests.
    virtual void require_open() const = 0;
    // Throws StoppedError, or the error that ended the kernel, if it has ended. Long waits call it.
    virtual void require_alive() = 0;

   protected:
    [[nodiscard]] std::atomic<KernelState>& own_state() { return line_.state; }

   private:
    struct alignas(64) StateLine {
        std::atomic<KernelState> state = KernelState::starting;
    };
    StateLine line_;
};

// A lease of a channel to another process's kernel: it holds the mappings of the channel's memory,
// and knows the kernel's state.
class ChannelLease : public ChannelPeer {
   public:
    // Registers a function that another thread calls with `of` when the kernel drains, to learn
    // whether every request was answered. nullptr removes it, and returns when no call is running.
    virtual void ask(bool (*answered)(void const*), void const* of) = 0;
};

// The owner of an object's end: this process, or another one.
class LentBy {
   public:
    LentBy() = default;  // this process
    explicit LentBy(std::shared_ptr<ChannelLease> lease) : lease_(std::move(lease)) {}

    [[nodiscard]] bool another() const { return lease_ != nullptr; }
    [[nodiscard]] ChannelLease& lease() const { return *lease_; }  // another process's
    // If another process owns it, throws OwnerGoneError if that process has ended, and StoppedError
    // if it has destroyed the object. Costs one look at a word of this process.
    void require_there() const {
        if (lease_ == nullptr || lease_->state_word() == KernelState::running) [[likely]]
            return;
        lease_->require_open();
    }
    // Throws UsageError if another process owns it: only the owner gives out the device's end.
    void require_own_end() const {
        if (another()) throw UsageError("only the owner's process has the device's end");
    }

   private:
    std::shared_ptr<ChannelLease> lease_;
};

// The parts of an object's end on the CPU.
template <class View>
struct ObjectEnd {
    LentBy lent_by{};
    View view;  // this process's view
    HostMapped far;
    HostWait wait;
    std::size_t chunk_bytes = 0;  // of a ring of chunks
    // The rest is for this process's own objects.
    View device{};  // the device's view
    std::shared_ptr<void const> memory{};
};

struct ChannelParts {
    ChannelView view;  // this process's view
    HostMapped far;
    HostWait wait;
    CounterWords* counters;
    ServedBy served_by;
    std::shared_ptr<ChannelPeer> kernel;    // nullptr: nobody watches it
    std::shared_ptr<ChannelLease> lease{};  // of another process's channel
    // The rest is for this process's own channels.
    std::shared_ptr<ChannelMemory> memory{};
    unsigned index = 0;
    std::uint64_t* doorbell = nullptr;
};

// Makes channel `index` of `memory`. Throws UsageError, see checked_memory().
[[nodiscard]] ChannelParts own_channel(Device const& device, std::shared_ptr<ChannelMemory> memory,
                                       unsigned index, ChannelShape const& shape, HostWait wait,
                                       std::shared_ptr<ChannelPeer> kernel,
                                       std::uint64_t* doorbell);
// Makes a channel in new memory, for a kernel of the user's own.
[[nodiscard]] ChannelParts own_channel(Device const& device, ChannelShape const& shape);

// The device's view of the channel. Throws UsageError if it is another process's, and if a block of
// a PersistentKernel has the device's end.
[[nodiscard]] ChannelView device_channel(ChannelParts const& parts);

}  // namespace carillon::detail
