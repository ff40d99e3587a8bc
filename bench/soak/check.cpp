// SPDX-License-Identifier: Apache-2.0
#include "soak/check.hpp"

namespace carillon::tool {

SoakCounts& SoakCounts::operator+=(SoakCounts const& other) {
    commands += other.commands;
    lost += other.lost;
    duplicated += other.duplicated;
    reordered += other.reordered;
    corrupted += other.corrupted;
    abandoned += other.abandoned;
    return *this;
}

template <unsigned lines>
SoakCheck<lines>::SoakCheck(std::uint64_t channel, std::uint32_t window)
    : states_(window), next_(make_soak_request<lines>(channel, 1)) {}

template <unsigned lines>
void SoakCheck<lines>::sent() {
    State& state = at(next_.number);
    if (state == State::awaited) ++counts_.lost;  // a window ago: the channel has released it
    state = State::awaited;
    ++counts_.commands;
    next_ = make_soak_request<lines>(next_.channel, next_.number + 1);
}

template <unsigned lines>
void SoakCheck<lines>::abandon(std::uint64_t number) {
    at(number) = State::abandoned;
    ++counts_.abandoned;
}

template <unsigned lines>
void SoakCheck<lines>::replied(std::uint64_t asked, SoakReply<lines> const& reply) {
    if (!genuine(reply)) {
        ++counts_.corrupted;
        if (at(asked) == State::awaited) at(asked) = State::done;  // it is not lost too
        return;
    }
    bool const old = next_.number - reply.number > states_.size();
    if (old || at(reply.number) != State::awaited) {
        ++counts_.duplicated;
        in_step_ = false;
        return;
    }
    at(reply.number) = State::done;
    if (reply.number < newest_) {
        ++counts_.reordered;
        in_step_ = false;
        return;
    }
    check_count(reply, is_next(reply.number));
    newest_ = reply.number;
}

// Judges the count, which shows two faults that the numbers cannot: a request was served twice and
// the second reply was dropped, or the handler's state is wrong. Next to a reply that is missing or
// out of turn it is not judged, so that one mistake is counted once.
template <unsigned lines>
void SoakCheck<lines>::check_count(SoakReply<lines> const& reply, bool in_turn) {
    std::uint64_t const extra = reply.count - reply.number;
    if (in_turn && in_step_ && extra != extra_) {
        ++(static_cast<std::int64_t>(extra - extra_) > 0 ? counts_.duplicated : counts_.reordered);
    }
    extra_ = extra;
    in_step_ = in_turn;
}

template <unsigned lines>
SoakCounts SoakCheck<lines>::finish() {
    for (State& state : states_) {
        if (state == State::awaited) ++counts_.lost;
        state = State::done;
    }
    return counts_;
}

template <unsigned lines>
bool SoakCheck<lines>::genuine(SoakReply<lines> const& reply) const {
    return reply.number != 0 && reply.number < next_.number &&
           reply ==
               make_soak_reply(make_soak_request<lines>(next_.channel, reply.number), reply.count);
}

template <unsigned lines>
bool SoakCheck<lines>::is_next(std::uint64_t number) {
    for (std::uint64_t between = newest_ + 1; between < number; ++between) {
        if (at(between) == State::awaited) return false;
    }
    return true;
}

template class SoakCheck<1>;
template class SoakCheck<2>;
template class SoakCheck<16>;

}  // namespace carillon::tool
