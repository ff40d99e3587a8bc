// SPDX-License-Identifier: Apache-2.0
// A device's end for one block of one kernel, given out once. It counts from the first message on:
// two ends, or two copies, would share messages between them, or lose some.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "carillon/detail/wire/config.hpp"

namespace carillon::detail {

// Two addresses of the device's memory that are among an end's bytes, and in no other end; one
// address twice if the end has no second. None for an end that is not passed to kernels. It takes
// two to recognise an end: a handler's padding may have the rest of one address.
struct EndAddresses {
    void const* first = nullptr;
    void const* second = nullptr;
};

// One thread at a time.
class TakenOnce {
   public:
    TakenOnce& operator=(TakenOnce&&) = delete;
    ~TakenOnce();

    // Throws UsageError, which names both takers, if the end was taken before. `giver` is the call
    // that gives it. `other` is for an end with two parts, each of which counts for itself.
    void take(std::string_view giver, CodeLocation const& taker, EndAddresses const& addresses,
              EndAddresses const& other = {});

   private:
    CodeLocation first_{nullptr, 0};
    std::array<void const*, 2> addresses_{};
};

// Whether blocks know their own numbers: then one of them can own an end.
enum class BlockNumbers : bool { unknown, known };

// Looks for such ends in the arguments of a kernel's blocks. If an earlier launch has had one, a
// line on stderr says so. One thread at a time.
class EndsOfBlocks {
   public:
    explicit EndsOfBlocks(BlockNumbers numbers) : numbers_(numbers) {}
    // The bytes of block number `block`, at most `size`. Throws UsageError for an end that another
    // block has got or owns.
    void add(unsigned block, void const* bytes, std::size_t size);

   private:
    BlockNumbers numbers_;
    std::vector<std::pair<void const*, unsigned>> block_of_;  // in order of the addresses
};

// Checks bytes that `blocks` blocks copy, or, for 0, the lanes of one block. Throws UsageError for
// such an end that none of the blocks owns.
void refuse_copied_ends(void const* bytes, std::size_t size, unsigned blocks,
                        BlockNumbers numbers = BlockNumbers::unknown);
// Records that `block` owns the ends in these bytes. Returns a mark of this copy, to be kept beside
// it: `block`, and more in the upper half. Throws UsageError if another block owns one of the ends.
[[nodiscard]] std::uint64_t mark_as_owned(void const* bytes, std::size_t size, unsigned block);

}  // namespace carillon::detail
