// SPDX-License-Identifier: Apache-2.0
// The messages of `carillon-bench soak` and the handler that answers them. Messages are whole
// lines, and the host can compute every byte again.
#pragma once

#include <cstdint>

#include "carillon/detail/wire/config.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/members.hpp"

namespace carillon::tool {

// Words of a message of `lines` lines beside its two numbers.
template <unsigned lines>
inline constexpr unsigned soak_words = lines* detail::payload_bytes / sizeof(std::uint64_t) - 2;

template <unsigned lines>
struct SoakRequest {
    std::uint64_t channel;
    std::uint64_t number;  // of this channel, from 1
    std::uint64_t word[soak_words<lines>];
    CARILLON_MEMBERS(channel, number, word)
};

template <unsigned lines>
struct SoakReply {
    std::uint64_t number;                   // the request's
    std::uint64_t count;                    // requests that the handler has had of this channel
    std::uint64_t hash[soak_words<lines>];  // of the count and all that was asked, up to each word

    bool operator==(SoakReply const&) const = default;
    CARILLON_MEMBERS(number, count, hash)
};
static_assert(sizeof(SoakRequest<1>) == 48 && sizeof(SoakReply<1>) == 48, "both fill a line");

// The output function of splitmix64: neighbouring numbers have nothing in common.
[[nodiscard]] CARILLON_HD constexpr std::uint64_t splitmix(std::uint64_t number) {
    std::uint64_t z = (number + 1) * 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31U);
}

template <unsigned lines>
[[nodiscard]] CARILLON_HD constexpr SoakRequest<lines> make_soak_request(std::uint64_t channel,
                                                                         std::uint64_t number) {
    constexpr unsigned words = soak_words<lines>;
    SoakRequest<lines> request{channel, number, {}};
    for (unsigned i = 0; i < words; ++i) {
        request.word[i] = splitmix((channel << 48U) + words * number + i);
    }
    return request;
}

// One multiplication per word: the handler must cost less than the way to it.
[[nodiscard]] CARILLON_HD constexpr std::uint64_t soak_mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15U + 1;
    return hash ^ (hash >> 32U);
}

template <unsigned lines>
[[nodiscard]] CARILLON_HD constexpr SoakReply<lines> make_soak_reply(
    SoakRequest<lines> const& request, std::uint64_t count) {
    SoakReply<lines> reply{request.number, count, {}};
    std::uint64_t hash = soak_mix(soak_mix(count, request.channel), request.number);
    for (unsigned i = 0; i < soak_words<lines>; ++i) {
        reply.hash[i] = hash = soak_mix(hash, request.word[i]);
    }
    return reply;
}

// If each block has one channel, each channel has a handler of its own.
template <unsigned lines>
struct SoakHandler {
    std::uint64_t count = 0;

    CARILLON_HD SoakReply<lines> operator()(SoakRequest<lines> const& request) {
        return make_soak_reply(request, ++count);
    }
};

}  // namespace carillon::tool
