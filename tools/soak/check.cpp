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

SoakCheck::SoakCheck(std::uint64_t channel, std::uint32_t window)
    : states_(window), next_(make_soak_request(channel, 1)) {}

void SoakCheck::sent() {
    State& state = at(next_.number);
    if (state == State::awaited) ++counts_.lost;  // a window ago: the channel has let go of it
    state = State::awaited;
    ++counts_.commands;
    next_ = make_soak_request(next_.channel, next_.number + 1);
}

void SoakCheck::abandon(std::uint64_t number) {
    at(number) = State::abandoned;
    ++counts_.abandoned;
}

void SoakCheck::replied(std::uint64_t asked, SoakReply const& reply) {
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

// The count says what the numbers cannot: that a request was served twice whose second reply was
// dropped, or that the handler's state is not what it was. Next to a reply that is missing or out
// of its turn it says nothing more, so that one mistake is counted once.
void SoakCheck::check_count(SoakReply const& reply, bool in_turn) {
    std::uint64_t const extra = reply.count - reply.number;
    if (in_turn && in_step_ && extra != extra_) {
        ++(static_cast<std::int64_t>(extra - extra_) > 0 ? counts_.duplicated : counts_.reordered);
    }
    extra_ = extra;
    in_step_ = in_turn;
}

SoakCounts SoakCheck::finish() {
    for (State& state : states_) {
        if (state == State::awaited) ++counts_.lost;
        state = State::done;
    }
    return counts_;
}

bool SoakCheck::genuine(SoakReply const& reply) const {
    return reply.number != 0 && reply.number < next_.number &&
           reply == make_soak_reply(make_soak_request(next_.channel, reply.number), reply.count);
}

bool SoakCheck::is_next(std::uint64_t number) {
    for (std::uint64_t between = newest_ + 1; between < number; ++between) {
        if (at(between) == State::awaited) return false;
    }
    return true;
}

}  // namespace carillon::tool
