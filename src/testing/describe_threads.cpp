// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <utility>

#include "testing/fiber_block.hpp"

namespace carillon::detail {
namespace {

struct Rank {
    unsigned first;
    unsigned last;
};

std::string describe(Rank const& ranks) {
    if (ranks.first == ranks.last) return fmt::format("{}", ranks.first);
    return fmt::format("{} to {}", ranks.first, ranks.last);
}

// "threads 0 and 2 to 31"
std::string describe(std::vector<Rank> const& ranks) {
    bool const one = ranks.size() == 1 && ranks[0].first == ranks[0].last;
    std::string text = one ? "thread " : "threads ";
    for (std::size_t i = 0; i != ranks.size(); ++i) {
        if (i != 0) text += i + 1 == ranks.size() ? " and " : ", ";
        text += describe(ranks[i]);
    }
    return text;
}

std::string barriers(unsigned count) {
    if (count == 0) return "";
    return fmt::format(" after {} barrier{}", count, count == 1 ? "" : "s");
}

// Describes what all of some threads do.
std::string describe(ThreadState const& state, bool one) {
    bool const waits = state.wait.whom != BlockWait::For::nobody && !state.ended;
    bool const at_barrier = state.wait.whom == BlockWait::For::block;
    if (state.ended || (at_barrier && state.wait.where.file == nullptr)) {
        return fmt::format("{} returned{}", one ? "has" : "have", barriers(state.barriers));
    }
    std::string text = fmt::format("{} at {}", one ? "waits" : "wait", state.wait.call);
    if (waits && at_barrier) {
        text += fmt::format(" ({}:{})", state.wait.where.file, state.wait.where.line);
    }
    return text + barriers(state.barriers);
}

struct Alike {
    ThreadState state;
    std::vector<Rank> ranks;
};

bool alike(ThreadState const& one, ThreadState const& other) {
    return one.barriers == other.barriers && describe(one, true) == describe(other, true);
}

void add(std::vector<Alike>& groups, unsigned rank, ThreadState const& state) {
    for (Alike& each : groups) {
        if (!alike(each.state, state)) continue;
        if (each.ranks.back().last + 1 == rank) {
            each.ranks.back().last = rank;
        } else {
            each.ranks.push_back({rank, rank});
        }
        return;
    }
    groups.push_back({state, {{rank, rank}}});
}

}  // namespace

std::string describe_threads(std::vector<ThreadState> const& threads) {
    std::vector<Alike> groups;
    for (unsigned i = 0; i != threads.size(); ++i) add(groups, i, threads[i]);
    std::vector<std::string> texts;
    for (Alike const& each : groups) {
        bool const one = each.ranks.size() == 1 && each.ranks[0].first == each.ranks[0].last;
        texts.push_back(describe(each.ranks) + " " + describe(each.state, one));
    }
    return fmt::format("{}", fmt::join(texts, "; "));
}

}  // namespace carillon::detail
