// SPDX-License-Identifier: Apache-2.0
#include "testing/fiber_block.hpp"

#include <fmt/format.h>

#include <cstring>

#include "carillon/error.hpp"
#include "testing/fiber.hpp"

namespace carillon::detail {

BlockMemory::~BlockMemory() { allow_bytes(room_.get(), sizeof(Room)); }

void BlockMemory::begin(std::byte pattern) {
    allow_bytes(room_.get(), sizeof(Room));
    std::memset(room_.get(), std::to_integer<int>(pattern), sizeof(Room));
    forbid_bytes(room_.get(), sizeof(Room));
    count_ = bytes_ = end_ = 0;
}

// Threads call it one after the other, without an order between them: so it writes nothing that the
// thread sanitizer watches.
void* BlockMemory::variable(void const* site, std::size_t bytes, std::size_t alignment) {
    auto* const begin = reinterpret_cast<std::byte*>(room_.get());
    for (std::size_t i = 0; i != count_; ++i) {
        if (variables_[i].site == site) return begin + variables_[i].at;
    }
    return add(site, bytes, alignment);
}

void* BlockMemory::add(void const* site, std::size_t bytes, std::size_t alignment) {
    if (alignment > most_alignment || count_ == most_variables || bytes > most_bytes - bytes_) {
        throw UsageError(fmt::format(
            "a shared variable of {} bytes, aligned to {}, behind {} of {} bytes: a block has "
            "{} variables and {} bytes at most, each variable is aligned to {} at most",
            bytes, alignment, count_, bytes_, most_variables, most_bytes, most_alignment));
    }
    std::size_t const at = (end_ + alignment - 1) / alignment * alignment;
    variables_[count_++] = {site, at};
    bytes_ += bytes;
    // The address sanitizer has marks for multiples of 8 bytes.
    end_ = (at + bytes + red_zone + 7) / 8 * 8;
    auto* const begin = reinterpret_cast<std::byte*>(room_.get()) + at;
    allow_bytes(begin, bytes);
    return begin;
}

}  // namespace carillon::detail
