// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/taken_once.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "carillon/detail/host/ends_of_blocks.hpp"
#include "carillon/detail/host/say_line.hpp"
#include "carillon/error.hpp"
#include "os/process.hpp"

namespace carillon::detail {
namespace {

struct GivenEnd {
    std::string giver;
    CodeLocation taker;
    void const* second;       // its other address
    std::uint64_t owner = 0;  // the mark beside the copy that a block owns
    unsigned launches = 0;    // launches that had it

    [[nodiscard]] std::string what() const {
        return fmt::format("the end that {} gave at {}:{}", giver, taker.file, taker.line);
    }
    [[nodiscard]] unsigned owning_block() const { return static_cast<unsigned>(owner); }
};

// Every end that was given out, by its first address, while its object exists. Ends of destroyed
// objects are forgotten: unwritten bytes may hold an old end.
struct GivenEnds {
    std::mutex mutex;
    std::map<void const*, GivenEnd> at;
    std::uint64_t owners = 0x6e0a11;  // no number that a program is likely to have beside an end
};
GivenEnds& given_ends() { return PerProcess<GivenEnds>::get(); }

// Calls `use(word)` for each word that the bytes may have, at any alignment: members may be packed.
template <class Use>
void each_word(void const* bytes, std::size_t size, Use&& use) {
    auto const* const begin = static_cast<std::byte const*>(bytes);
    for (std::size_t i = 0; i + sizeof(std::uint64_t) <= size; ++i) {
        std::uint64_t word = 0;
        std::memcpy(&word, begin + i, sizeof(word));
        use(word);
    }
}

bool has_word(void const* bytes, std::size_t size, std::uint64_t wanted) {
    bool has = false;
    each_word(bytes, size, [&](std::uint64_t word) { has |= word == wanted; });
    return has;
}
std::uint64_t as_word(void const* address) { return reinterpret_cast<std::uintptr_t>(address); }

// An end that a block's bytes have.
struct FoundEnd {
    void const* address;
    GivenEnd& end;
    bool owned;  // it is its owner's copy
};

// Counts a launch that gets the end, and writes a line for the second. That is no error: unwritten
// bytes look the same.
void count_launch(GivenEnd& end) {
    if (++end.launches != 2) return;
    say_line(
        fmt::format("carillon: {}: an earlier launch had it too, and messages are lost if both "
                    "kernels use it: make one object per kernel",
                    end.what()));
}

// Calls `use(found)` for each end in the bytes.
template <class Use>
void each_end(void const* bytes, std::size_t size, Use&& use) {
    GivenEnds& ends = given_ends();
    std::lock_guard const lock(ends.mutex);
    if (ends.at.empty()) return;
    std::uint64_t const lowest = as_word(ends.at.begin()->first);
    std::uint64_t const highest = as_word(ends.at.rbegin()->first);
    std::set<void const*> seen;
    each_word(bytes, size, [&](std::uint64_t word) {
        if (word < lowest || word > highest) return;
        auto const found = ends.at.find(reinterpret_cast<void const*>(word));
        if (found == ends.at.end() || !seen.insert(found->first).second) return;
        GivenEnd& end = found->second;
        if (!has_word(bytes, size, as_word(end.second))) return;
        use(FoundEnd{found->first, end, end.owner != 0 && has_word(bytes, size, end.owner)});
    });
}

// Checks that are independent of the block.
void require_usable(FoundEnd const& found, BlockNumbers numbers) {
    if (found.owned && numbers == BlockNumbers::unknown) {
        throw UsageError(
            fmt::format("block {} owns {}, but blocks have no numbers here: OwnedByBlock is for "
                        "the body of launch",
                        found.end.owning_block(), found.end.what()));
    }
}

constexpr char const* cure =
    "pass a function that makes each block's handler: [](unsigned block) { return Handler{...}; }";

}  // namespace

TakenOnce::~TakenOnce() {
    if (addresses_[0] == nullptr) return;
    GivenEnds& ends = given_ends();
    std::lock_guard const lock(ends.mutex);
    for (void const* const address : addresses_) {
        ends.at.erase(address);
    }
}

void TakenOnce::take(std::string_view giver, CodeLocation const& taker,
                     EndAddresses const& addresses, EndAddresses const& other) {
    bool const taken = first_.file != nullptr;
    if (taken && *taker.file == '\0') {
        throw UsageError(
            "the device's end was given already, and only one kernel may have it: make one object "
            "per kernel");
    }
    if (taken) {
        throw UsageError(
            fmt::format("{}:{} takes an end that {}:{} has taken, and only one kernel may have it: "
                        "make one object per kernel, or an MpmcRing",
                        taker.file, taker.line, first_.file, first_.line));
    }
    GivenEnds& ends = given_ends();
    for (EndAddresses const& each : {addresses, other}) {
        if (each.first == nullptr) continue;
        std::lock_guard const lock(ends.mutex);
        ends.at[each.first] = {std::string(giver), taker, each.second};
    }
    first_ = taker;
    addresses_ = {addresses.first, other.first};
}

void EndsOfBlocks::add(unsigned block, void const* bytes, std::size_t size) {
    each_end(bytes, size, [&](FoundEnd const& found) {
        require_usable(found, numbers_);
        if (found.owned && found.end.owning_block() != block) {
            throw UsageError(fmt::format("block {} has {}, which block {} owns", block,
                                         found.end.what(), found.end.owning_block()));
        }
        std::pair<void const*, unsigned> const has(found.address, block);
        auto had = std::ranges::lower_bound(block_of_, has.first, {}, &decltype(has)::first);
        if (had == block_of_.end() || had->first != has.first) {
            had = block_of_.insert(had, has);
            count_launch(found.end);
        }
        if (had->second == block) return;
        throw UsageError(
            fmt::format("blocks {} and {} have {}, and two copies of it would lose messages: make "
                        "one object per block",
                        had->second, block, found.end.what()));
    });
}

void refuse_copied_ends(void const* bytes, std::size_t size, unsigned blocks,
                        BlockNumbers numbers) {
    each_end(bytes, size, [&](FoundEnd const& found) {
        GivenEnd& end = found.end;
        require_usable(found, numbers);
        if (found.owned && end.owning_block() >= blocks) {
            throw UsageError(fmt::format(
                "block {} owns {}, but there are only {} blocks, so no block would use it",
                end.owning_block(), end.what(), blocks));
        }
        if (blocks == 1 || found.owned) {
            count_launch(end);
            return;
        }
        if (blocks == 0) {
            throw UsageError(
                fmt::format("each lane of a warp would have a copy of {}, and messages would be "
                            "lost: only a handler that one thread of a block runs can have it",
                            end.what()));
        }
        throw UsageError(
            fmt::format("each of {} blocks would have a copy of {}, and messages would be lost: {}",
                        blocks, end.what(), cure));
    });
}

std::uint64_t mark_as_owned(void const* bytes, std::size_t size, unsigned block) {
    std::uint64_t owner = 0;
    each_end(bytes, size, [&](FoundEnd const& found) {
        GivenEnd& end = found.end;
        if (end.owner == 0) {
            if (owner == 0) owner = (++given_ends().owners << 32U) | block;
            end.owner = owner;
        }
        owner = end.owner;
        if (end.owning_block() == block) return;
        throw UsageError(fmt::format("block {} already owns {}, so block {} cannot",
                                     end.owning_block(), end.what(), block));
    });
    return owner == 0 ? block : owner;
}

}  // namespace carillon::detail
