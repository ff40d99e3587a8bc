// SPDX-License-Identifier: Apache-2.0
// Finds device ends that are given out once (taken_once.hpp) in a launch's arguments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace carillon::detail {

// Whether blocks know their own numbers: if so, one of them can own an end.
enum class BlockNumbers : bool { unknown, known };

// Looks for ends in the arguments of a kernel's blocks. If an earlier launch had one of them, a
// line on stderr says so. One thread at a time.
class EndsOfBlocks {
   public:
    explicit EndsOfBlocks(BlockNumbers numbers) : numbers_(numbers) {}
    // Adds the bytes of block number `block`, at most `size`. Throws UsageError for an end that
    // another block has or owns.
    void add(unsigned block, void const* bytes, std::size_t size);

   private:
    BlockNumbers numbers_;
    std::vector<std::pair<void const*, unsigned>> block_of_;  // in order of the addresses
};

// Looks for ends in bytes that `blocks` blocks copy, or, for 0, the lanes of one block. Throws
// UsageError for an end that none of the blocks owns.
void refuse_copied_ends(void const* bytes, std::size_t size, unsigned blocks,
                        BlockNumbers numbers = BlockNumbers::unknown);
// Records that `block` owns the ends in these bytes. Returns a mark of this copy, to be kept beside
// it: `block`, with more data in the upper half. Throws UsageError if another block owns an end.
[[nodiscard]] std::uint64_t mark_as_owned(void const* bytes, std::size_t size, unsigned block);

}  // namespace carillon::detail
