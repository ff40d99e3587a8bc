// SPDX-License-Identifier: Apache-2.0
// Handlers of several threads, each right or with the mistake that its name says.
#pragma once

#include "carillon/block.hpp"

namespace carillon::test {

struct Numbers {
    int values[32];
};

[[nodiscard]] CARILLON_HD inline int sum_of(Numbers const& numbers) {
    unsigned sum = 0;  // of arbitrary numbers, where a thread has not written its own
    for (int const each : numbers.values) sum += static_cast<unsigned>(each);
    return static_cast<int>(sum);
}

// Each thread reads a word that the first one writes.
struct ReadWrite {
    static constexpr unsigned threads = 32;
    bool races = true;

    CARILLON_HD int operator()(int const& request) const {
        struct Shared {
            int written;
            Numbers read;
        };
        auto& shared = block::shared<Shared, Shared>();
        if (block::thread_rank() == 0) shared.written = request;
        if (!races) block::sync();
        shared.read.values[block::thread_rank()] = shared.written;
        block::sync();
        return sum_of(shared.read);
    }
};

// The threads write one variable.
struct WriteWrite {
    static constexpr unsigned threads = 32;
    bool races = true;

    CARILLON_HD int operator()(int const& request) const {
        struct Shared {
            int last;
        };
        auto& shared = block::shared<Shared, Shared>();
        int const rank = static_cast<int>(block::thread_rank());
        if (races || rank == 0) shared.last = request + rank;
        block::sync();
        return shared.last;
    }
};

// The first thread writes the next value while others may still read the last one.
struct MissingBarrierAfterTheRead {
    static constexpr unsigned threads = 32;
    bool races = true;

    CARILLON_HD int operator()(int const& request) const {
        struct Shared {
            int next;
            Numbers read;
        };
        auto& shared = block::shared<Shared, Shared>();
        int mine = 0;
        for (int i = 0; i != 3; ++i) {
            if (block::thread_rank() == 0) shared.next = request + i;
            block::sync();
            mine += shared.next;
            if (!races) block::sync();
        }
        shared.read.values[block::thread_rank()] = mine;
        block::sync();
        return sum_of(shared.read);
    }
};

}  // namespace carillon::test
