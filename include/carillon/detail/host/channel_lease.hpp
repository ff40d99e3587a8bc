// SPDX-License-Identifier: Apache-2.0
// How a client's ends refer to the process that leases them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/error.hpp"
#include "carillon/wait.hpp"

namespace carillon::detail {

// A lease of a channel to another process's kernel: it holds the mappings of the channel's memory,
// and knows the kernel's state.
class ChannelLease : public ChannelPeer {
   public:
    // Registers the function that another thread calls, when the kernel drains, to learn whether
    // every request has been answered. nullptr: none any more; returns when no call is running.
    virtual void ask(std::function<bool()> answered) = 0;
};

// Parts of a client's end.
template <class View>
struct LeasedEnd {
    std::shared_ptr<ChannelLease> lease;
    View view;  // as this process sees it
    HostMapped far;
    HostWait wait;
    std::uint32_t chunk_bytes = 0;  // of a ring of chunks
};

// The owner of an object's end: this process, or another one that lends it.
class LentBy {
   public:
    LentBy() = default;  // this process
    explicit LentBy(std::shared_ptr<ChannelLease> lease) : lease_(std::move(lease)) {}

    [[nodiscard]] bool another() const { return lease_ != nullptr; }
    // If it is lent, throws OwnerGoneError if the owner has ended, and StoppedError if the owner
    // has destroyed it. Costs one look at a word of this process.
    void require_there() const {
        if (lease_ == nullptr || lease_->state_word() == KernelState::running) [[likely]]
            return;
        lease_->require_open();
    }
    // Throws UsageError if it is lent: only the owner gives out the device's end.
    void require_own_end() const {
        if (another()) throw UsageError("the device's end is the owner's, which lent the other");
    }

   private:
    std::shared_ptr<ChannelLease> lease_;
};

// Registers a function by ChannelLease::ask, and withdraws it when destroyed. Without a lease it
// does nothing.
class AnswersWatched {
   public:
    AnswersWatched(std::shared_ptr<ChannelLease> lease, std::function<bool()> answered)
        : lease_(std::move(lease)) {
        if (lease_) lease_->ask(std::move(answered));
    }
    ~AnswersWatched() {
        if (lease_) lease_->ask(nullptr);
    }
    AnswersWatched(AnswersWatched const&) = delete;
    AnswersWatched& operator=(AnswersWatched const&) = delete;

   private:
    std::shared_ptr<ChannelLease> lease_;
};

}  // namespace carillon::detail
