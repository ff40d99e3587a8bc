// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/taken_once.hpp"

#include <fmt/format.h>

#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "carillon/error.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

struct GivenEnd {
    std::string call;
    CodeLocation taker;
    void const* second;  // its other address
    bool has_owner = false;

    [[nodiscard]] std::string what() const {
        return fmt::format("the end that {} gave at {}:{}", call, taker.file, taker.line);
    }
};

// Every end that was given out and whose object is there still, by its first address.
struct GivenEnds {
    std::mutex mutex;
    std::unordered_map<void const*, GivenEnd> at;
};
GivenEnds& given_ends() { return PerProcess<GivenEnds>::get(); }

// Calls `use(word)` for each pointer that the bytes may have.
template <class Use>
void each_word(void const* bytes, std::size_t size, Use&& use) {
    auto const* const begin = static_cast<std::byte const*>(bytes);
    for (std::size_t i = 0; i + sizeof(void*) <= size; i += sizeof(void*)) {
        void const* word = nullptr;
        std::memcpy(&word, begin + i, sizeof(word));
        use(word);
    }
}

bool has_word(void const* bytes, std::size_t size, void const* wanted) {
    bool found = false;
    each_word(bytes, size, [&](void const* word) { found = found || word == wanted; });
    return found;
}

// Calls `use(address, end)` for each end in the bytes.
template <class Use>
void each_end(void const* bytes, std::size_t size, Use&& use) {
    GivenEnds& ends = given_ends();
    std::lock_guard const lock(ends.mutex);
    each_word(bytes, size, [&](void const* word) {
        auto const found = ends.at.find(word);
        if (found == ends.at.end()) return;
        if (has_word(bytes, size, found->second.second)) use(word, found->second);
    });
}

constexpr char const* cure =
    "pass a function that makes what a block gets, as [](unsigned block) { return Handler{...}; }";

}  // namespace

TakenOnce::~TakenOnce() {
    if (address_ == nullptr) return;
    GivenEnds& ends = given_ends();
    std::lock_guard const lock(ends.mutex);
    ends.at.erase(address_);
}

void TakenOnce::take(std::string_view call, CodeLocation const& taker,
                     EndAddresses const& addresses) {
    if (first_.file != nullptr) {
        throw UsageError(call, fmt::format("{}:{} takes an end that {}:{} has taken: it is for one "
                                           "kernel, once; for several make a ring for each, or a "
                                           "MpmcRing",
                                           taker.file, taker.line, first_.file, first_.line));
    }
    if (addresses.first != nullptr) {
        GivenEnds& ends = given_ends();
        std::lock_guard const lock(ends.mutex);
        ends.at[addresses.first] = {std::string(call), taker, addresses.second};
    }
    first_ = taker;
    address_ = addresses.first;
}

void EndsOfBlocks::add(unsigned block, void const* bytes, std::size_t size) {
    each_end(bytes, size, [&](void const* address, GivenEnd const& end) {
        auto const [had, is_new] = block_of_.try_emplace(address, block);
        if (had->second == block) return;
        throw UsageError(call_, fmt::format("blocks {} and {} have {}: two copies of it would lose "
                                            "messages; make an object for each block",
                                            had->second, block, end.what()));
    });
}

void refuse_copied_ends(std::string_view call, void const* bytes, std::size_t size, unsigned blocks,
                        BlockNumbers numbers) {
    if (blocks == 1) return;
    each_end(bytes, size, [&](void const* /*address*/, GivenEnd const& end) {
        if (end.has_owner && numbers == BlockNumbers::known) return;
        if (blocks == 0) {
            throw UsageError(call, fmt::format("each lane of a warp would have a copy of {}, and "
                                               "messages would be lost: only a handler that one "
                                               "thread of a block runs can have it",
                                               end.what()));
        }
        throw UsageError(call, fmt::format("each of {} blocks would have a copy of {}, and "
                                           "messages would be lost: {}",
                                           blocks, end.what(), cure));
    });
}

void mark_as_owned(void const* bytes, std::size_t size) {
    each_end(bytes, size, [](void const* /*address*/, GivenEnd& end) { end.has_owner = true; });
}

}  // namespace carillon::detail
