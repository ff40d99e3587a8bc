// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/host/channel_peer.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
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
struct LeasedChannel {
    std::shared_ptr<ChannelLease> lease;
    ChannelView view;  // as this process sees it
    HostMapped far;
    HostWait wait;
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
