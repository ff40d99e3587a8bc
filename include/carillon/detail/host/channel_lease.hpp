// SPDX-License-Identifier: Apache-2.0
// How a client's ends refer to the process that lends them.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/counter_words.hpp"
#include "carillon/error.hpp"
#include "carillon/wait.hpp"

namespace carillon::detail {

// A channel to another process's kernel, for as long as this object is there: the mappings of its
// memory, and what is known of the kernel.
class ChannelLease : public ChannelPeer {
   public:
    // Whom to ask, from another thread, whether every request has been answered: when the kernel
    // drains. nullptr: nobody any more; returns when none is being asked.
    virtual void ask(std::function<bool()> answered) = 0;
};

// What a client's end is made of.
template <class View>
struct LeasedEnd {
    std::shared_ptr<ChannelLease> lease;
    View view;  // as this process sees it
    HostMapped far;
    HostWait wait;
};
struct LeasedChannel : LeasedEnd<ChannelView> {
    CounterWords* counters;
    ServedBy served_by;
};

// The end of an object may be of this process's own, or lent by another.
class LentBy {
   public:
    LentBy() = default;  // nobody
    explicit LentBy(std::shared_ptr<ChannelLease> lease) : lease_(std::move(lease)) {}

    [[nodiscard]] bool another() const { return lease_ != nullptr; }
    // Where it was lent throws OwnerGoneError if the owner has ended, and StoppedError if the owner
    // has destroyed it. One look at a word of this process.
    void require_there() const {
        if (lease_ == nullptr || lease_->state_word() == KernelState::running) [[likely]]
            return;
        lease_->require_open();
    }
    // Throws UsageError where it was lent: the device's end is its owner's to give out.
    void require_own_end() const {
        if (another()) throw UsageError("the device's end is the owner's, which lent the other");
    }

   private:
    std::shared_ptr<ChannelLease> lease_;
};

// Asks for as long as it is there.
class AnswersWatched {
   public:
    AnswersWatched() = default;
    AnswersWatched(std::shared_ptr<ChannelLease> lease, std::function<bool()> answered)
        : lease_(std::move(lease)) {
        lease_->ask(std::move(answered));
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
