// SPDX-License-Identifier: Apache-2.0
// Buffers of one byte again and again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "carillon/store.hpp"

namespace carillon::test {

inline constexpr std::size_t some_bytes = 100'000;

std::uint64_t put(Store const& store, std::byte content, std::size_t bytes = some_bytes) {
    Buffer made = store.create("", bytes);
    made.write(std::vector(bytes, content));
    return made.seal().id();
}

inline std::byte last_byte(Buffer const& buffer) {
    std::byte last{};
    buffer.read(std::span(&last, 1), buffer.size() - 1);
    return last;
}

}  // namespace carillon::test
