// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon {
class Memory;
}

namespace carillon::detail {

// Has memory found by its address (find_mapped) until it is freed.
class ListedRange {
   public:
    ListedRange(void* device, void* host, std::size_t size, bool write_combining);
    ~ListedRange();
    ListedRange(ListedRange const&) = delete;
    ListedRange& operator=(ListedRange const&) = delete;

    // The user frees `memory`, which this range is of. If somebody holds it, the list takes it over
    // until the last hold ends, nobody finds it any more, and true is returned.
    [[nodiscard]] bool take_over_if_held(Memory& memory) const noexcept;

   private:
    std::uint64_t begin_;
};

}  // namespace carillon::detail
