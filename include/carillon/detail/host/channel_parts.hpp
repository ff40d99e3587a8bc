// SPDX-License-Identifier: Apache-2.0
// The parts of which the CPU's ends of channels and objects are made, and how these refer to the
// kernel. The memory is this process's own, or another's, which lends it.
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

// A channel's questions to the kernel at its other end.
class ChannelPeer {
   public:
    virtual ~ChannelPeer() = default;
    // The kernel's state: every request looks at it, and proceeds if it is `running`. It is on a
    // line that is rarely written.
    [[nodiscard]] std::atomic<KernelState> const& state_word() const { return line_.state; }
    // Whether the kernel may still answer, as far as is known: one look at that word.
    [[nodiscard]] bool answers() const {
        // Acquire: replies that came before the kernel was known to have ended are then seen.
        KernelState const state = line_.state.load(std::memory_order_acquire);
        return state == KernelState::running || state == KernelState::draining;
    }
    // Throws StoppedError, or the error that ended the kernel, if it takes no more requests.
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
    // Registers a function that another thread calls with `of`, when the kernel drains, to learn
    // whether every request has been answered. nullptr: none any more; returns when no call is
    // running.
    virtual void ask(bool (*answered)(void const*), void const* of) = 0;
};

// The owner of an object's end: this process, or another one that lends it.
class LentBy {
   public:
    LentBy() = default;  // this process
    explicit LentBy(std::shared_ptr<ChannelLease> lease) : lease_(std::move(lease)) {}

    [[nodiscard]] bool another() const { return lease_ != nullptr; }
    [[nodiscard]] ChannelLease& lease() const { return *lease_; }  // of another one
    // If it is lent, throws OwnerGoneError if the owner has ended, and StoppedError if the owner
    // has destroyed it. Costs one look at a word of this process.
    void require_there() const {
        if (lease_ == nullptr || lease_->state_word() == KernelState::running) [[likely]]
            return;
        lease_->require_open();
    }
    // Throws UsageError if it is lent: only the owner gives out the device's end.
    void require_own_end() const {
        if (another()) throw UsageError("only the owner's process has the device's end");
    }

   private:
    std::shared_ptr<ChannelLease> lease_;
};

// The parts of which the CPU's end of an object is made.
template <class View>
struct ObjectEnd {
    LentBy lent_by{};
    View view;  // as this process sees it
    HostMapped far;
    HostWait wait;
    std::size_t chunk_bytes = 0;  // of a ring of chunks
    // The rest is for an object of this process's own.
    View device{};  // as the device sees it
    std::shared_ptr<void const> memory{};
};

struct ChannelParts {
    ChannelView view;  // as this process sees it
    HostMapped far;
    HostWait wait;
    CounterWords* counters;
    ServedBy served_by;
    std::shared_ptr<ChannelPeer> kernel;    // nullptr: nobody watches it
    std::shared_ptr<ChannelLease> lease{};  // of another process's channel
    // The rest is for a channel of this process's own.
    std::shared_ptr<ChannelMemory> memory{};
    unsigned index = 0;
    std::uint64_t* doorbell = nullptr;
};

// Channel `index` of `memory`. Throws UsageError as checked_memory().
[[nodiscard]] ChannelParts own_channel(Device const& device, std::shared_ptr<ChannelMemory> memory,
                                       unsigned index, ChannelShape const& shape, HostWait wait,
                                       std::shared_ptr<ChannelPeer> kernel,
                                       std::uint64_t* doorbell);
// A channel of new memory, for a kernel that the user writes.
[[nodiscard]] ChannelParts own_channel(Device const& device, ChannelShape const& shape);

// The channel as the device sees it. Throws UsageError if it is another process's, and if a block
// of a PersistentKernel has the device's end.
[[nodiscard]] ChannelView device_channel(ChannelParts const& parts);

}  // namespace carillon::detail
