// SPDX-License-Identifier: Apache-2.0
// A device's end that one block of one kernel uses, given out once: it counts from the first
// message on, so that two of them, or two copies, would share messages out between them, or lose
// some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "carillon/detail/machine/code_location.hpp"
#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// Two addresses of the device's memory that an end has among its bytes, and no other end has; one
// address twice where the end has no second. None for an end that is not passed to kernels. It
// takes two to know an end: in a handler's padding there may be what is left of one address.
struct EndAddresses {
    void const* first = nullptr;
    void const* second = nullptr;
};

// One thread at a time.
class TakenOnce {
   public:
    TakenOnce() = default;
    TakenOnce(TakenOnce const&) = delete;
    TakenOnce& operator=(TakenOnce const&) = delete;
    ~TakenOnce();

    // Throws UsageError when the end was taken before, and names both takers. `giver`: the call
    // that gives it. `other`: of an end that has two parts, each of which counts for itself.
    void take(std::string_view giver, CodeLocation const& taker, EndAddresses const& addresses,
              EndAddresses const& other = {});

   private:
    CodeLocation first_{nullptr, 0};
    std::array<void const*, 2> addresses_{};
};

// Whether blocks know their own numbers: then one of them can own an end.
enum class BlockNumbers : bool { unknown, known };

// Looks for such ends in what the blocks of a kernel get. A line on stderr says so of one that an
// earlier launch has had. One thread at a time.
class EndsOfBlocks {
   public:
    explicit EndsOfBlocks(BlockNumbers numbers) : numbers_(numbers) {}
    // What block number `block` gets, of at most `size` bytes. Throws UsageError for an end that
    // another block has got, or that another block owns.
    void add(unsigned block, void const* bytes, std::size_t size);

   private:
    BlockNumbers numbers_;
    std::map<void const*, unsigned> block_of_;
};

// The same of what `blocks` blocks get a copy of each, or, for 0, the lanes of one. Throws
// UsageError for such an end that none of the blocks owns.
void refuse_copied_ends(void const* bytes, std::size_t size, unsigned blocks,
                        BlockNumbers numbers = BlockNumbers::unknown);
// The program has said that `block` owns the ends that are in there. Returns what tells such a copy
// of them from others, and is to be beside them: `block`, and more in the upper half. Throws
// UsageError when another block owns one of them.
[[nodiscard]] std::uint64_t mark_as_owned(void const* bytes, std::size_t size, unsigned block);

}  // namespace carillon::detail
