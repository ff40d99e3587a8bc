// SPDX-License-Identifier: Apache-2.0
// The messages of these tests' processes, and the handlers of their kernels.
#pragma once

#include <cstdint>

#include "carillon/block.hpp"
#include "carillon/commands.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::test {

struct Ask {
    std::uint64_t value;
};
struct Told {
    std::uint64_t twice;
    std::uint64_t served;  // how many requests the block had answered before
};

// Counts the requests that its block has answered, of all clients.
struct CountingHandler {
    std::uint64_t served = 0;

    CARILLON_HD Told operator()(Ask const& ask) { return {2 * ask.value, served++}; }
};

// A message of several lines.
struct LongAsk {
    std::uint64_t word[40];
};
struct SumHandler {
    CARILLON_HD LongAsk operator()(LongAsk const& ask) const {
        LongAsk told = ask;
        for (std::uint64_t& word : told.word) ++word;
        return told;
    }
};

// A handler that the threads of a warp run together.
struct WarpHandler {
    static constexpr unsigned threads = 32;
    std::uint64_t served = 0;

    CARILLON_HD Told operator()(Ask const& ask) { return {2 * ask.value, served++}; }
};

// Requests of several kinds, some of which the handler refuses.
struct Deposit {
    std::uint64_t amount;
};
struct Withdraw {
    static constexpr std::uint32_t opcode = 700;
    std::uint64_t amount;
};
inline constexpr std::uint32_t too_much = 41;
struct AccountHandler {
    using Commands = carillon::Commands<Deposit, Withdraw>;
    std::uint64_t balance = 0;

    CARILLON_HD std::uint64_t operator()(Deposit const& of) { return balance += of.amount; }
    CARILLON_HD Outcome<std::uint64_t> operator()(Withdraw const& of) {
        if (balance < of.amount) return Refusal{too_much};
        return balance -= of.amount;
    }
};

}  // namespace carillon::test
