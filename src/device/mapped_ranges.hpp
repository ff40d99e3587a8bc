// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

namespace carillon::detail {

// Has memory found by its address (find_mapped) until it goes.
class ListedRange {
   public:
    ListedRange(void* device, void* host, std::size_t size, bool write_combining);
    ~ListedRange();
    ListedRange(ListedRange const&) = delete;
    ListedRange& operator=(ListedRange const&) = delete;

   private:
    std::uint64_t begin_;
};

}  // namespace carillon::detail
