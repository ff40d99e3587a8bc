// SPDX-License-Identifier: Apache-2.0
#include "serving/served.hpp"

#include <fmt/format.h>

namespace carillon::detail {
namespace {

WireCounters to_wire(ChannelCounters const& counters) {
    return {counters.submitted, counters.answered, counters.taken,
            counters.dropped,   counters.stalls,   counters.depth};
}

}  // namespace

void ServedItem::show(LeasedCounters const& counters, Seen& seen) {
    seen.counters = to_wire(counters.now);
    seen.gone = to_wire(counters.gone);
}

KernelState ServedItem::state_of(ClosedByOwner const& object) {
    return object.closed() ? KernelState::stopped : KernelState::running;
}

std::string ServedItem::why_destroyed() const {
    return fmt::format("the owner has destroyed the {}", to_string(kind_));
}

std::optional<std::string> ServedItem::closed() const {
    if (told_ != KernelState::running) return text_;
    KernelState const state = this->state(false);
    if (state == KernelState::running) return {};
    return why_closed(state);
}

bool ServedItem::look(bool ask_device) {
    if (ended()) return news_;
    KernelState const state = this->state(ask_device);
    if (state == told_) return news_;
    text_ = why_closed(state);
    told_ = state;
    told_at_ = std::chrono::steady_clock::now();
    return news_ = true;
}

}  // namespace carillon::detail
