// SPDX-License-Identifier: Apache-2.0
// The lanes of a warp, which exchange their votes through any means.
#pragma once

#include <cstdint>

namespace carillon::test {

// Votes: tell(rank, value) returns the values of all lanes, lane by lane, and lanes() their number,
// at most Votes::most.
template <class Votes>
class VotingLanes {
   public:
    static constexpr unsigned most = Votes::most;
    VotingLanes(Votes& votes, unsigned rank) : votes_(&votes), rank_(rank) {}

    [[nodiscard]] unsigned thread_rank() const { return rank_; }
    [[nodiscard]] unsigned size() const { return votes_->lanes(); }
    [[nodiscard]] bool all(bool value) const { return count(value) == size(); }
    [[nodiscard]] bool any(bool value) const { return count(value) != 0; }
    [[nodiscard]] unsigned count(bool value) const { return sum(value, size()); }
    [[nodiscard]] unsigned count_before(bool value) const { return sum(value, rank_); }
    [[nodiscard]] std::uint64_t broadcast(std::uint64_t word) const {
        return votes_->tell(rank_, word)[0];
    }
    void sync() const { (void)votes_->tell(rank_, 0); }

   private:
    [[nodiscard]] unsigned sum(bool value, unsigned lanes) const {
        auto const told = votes_->tell(rank_, value ? 1 : 0);
        unsigned sum = 0;
        for (unsigned i = 0; i != lanes; ++i) sum += told[i] != 0 ? 1 : 0;
        return sum;
    }

    Votes* votes_;
    unsigned rank_;
};

}  // namespace carillon::test
