// SPDX-License-Identifier: Apache-2.0
// Messages and handlers as users have them, for the second part of `carillon rtt`.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>
#include <type_traits>

#include "kernels/rtt_kernels.hpp"

namespace carillon::tool {

// A message of `bytes` bytes, in the widest words that fill it.
template <unsigned bytes>
struct Sized {
    using Word =
        std::conditional_t<bytes % 8 == 0, std::uint64_t,
                           std::conditional_t<bytes % 4 == 0, std::uint32_t, std::uint8_t>>;
    static constexpr unsigned words = bytes / sizeof(Word);

    Word word[words];
    CARILLON_MEMBERS(word)
};

// Reads its whole request: each word of the reply is a sum of words. In a call the first word is
// the call's number and the others are 0, so that the first word of the reply is its number too.
template <unsigned request_bytes, unsigned reply_bytes>
struct Summing {
    using Request = Sized<request_bytes>;
    using Reply = Sized<reply_bytes>;

    CARILLON_HD Reply operator()(Request const& request) const {
        Reply reply{};
        for (unsigned i = 0; i < Request::words; ++i) {
            auto& word = reply.word[i % Reply::words];
            word = static_cast<typename Reply::Word>(word + request.word[i]);
        }
        return reply;
    }
    [[nodiscard]] static Request request(std::uint32_t number) {
        return {static_cast<typename Request::Word>(number)};
    }
    [[nodiscard]] static bool answers(Reply const& reply, std::uint32_t number) {
        return reply.word[0] ==
               static_cast<typename Reply::Word>(static_cast<typename Request::Word>(number));
    }
};

// Looks at one field of a request that fills a line.
struct OneField {
    using Request = Tick;
    using Reply = Sized<8>;

    CARILLON_HD Reply operator()(Tick const& tick) const { return {tick.order}; }
    [[nodiscard]] static Request request(std::uint32_t number) {
        return {4810.00, 4810.25, 0, 17, number, 22, 28};
    }
    [[nodiscard]] static bool answers(Reply const& reply, std::uint32_t number) {
        return reply.word[0] == number;
    }
};

// Reads and writes only the first word of a long message: such a call takes the time that the
// messages take to travel, and no more.
struct FirstWord {
    using Request = Sized<768>;
    using Reply = Sized<768>;

    CARILLON_HD Reply operator()(Request const& request) const {
        Reply reply;
        reply.word[0] = request.word[0];
        return reply;
    }
    [[nodiscard]] static Request request(std::uint32_t number) { return {number}; }
    [[nodiscard]] static bool answers(Reply const& reply, std::uint32_t number) {
        return reply.word[0] == number;
    }
};

// Keeps a state: the sum of all requests.
struct Accumulating {
    using Request = Sized<16>;
    using Reply = Sized<8>;

    std::uint64_t total = 0;

    CARILLON_HD Reply operator()(Request const& request) {
        total += request.word[0] + request.word[1];
        return {total};
    }
};

}  // namespace carillon::tool
