// SPDX-License-Identifier: Apache-2.0
// Every way in which an x86 CPU stores a line, and what is known of it. How each is done is in
// src/cpu/stores/; to add one, see src/cpu/stores.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// The instruction that stores a line; the narrowest first.
enum class StoreKind : std::uint8_t {
    cached,     // two 8-byte atomics a quad: cached memory, that is the emulated device
    sse2,       // four 16-byte streaming stores
    avx2,       // two 32-byte streaming stores
    avx512,     // one 64-byte streaming store
    movdir64b,  // one 64-byte direct store, which the CPU documents as a single write
};

// one_step stores payload and tags together. two_step stores the payload under the slot's previous
// tags, fences, and stores the tags: for CPUs whose write-combining buffers may be evicted in
// 8-byte pieces half way through a line, that is all that lack MOVDIR64B.
enum class PublishMode : std::uint8_t { one_step, two_step };

// What is known of a kind.
struct StoreTraits {
    StoreKind kind;
    std::string_view name;
    std::string_view feature;  // of the CPU that has it, as /proc/cpuinfo calls it; empty: all have
    std::size_t width;         // bytes that it stores at once
    PublishMode mode;          // that a single line needs in the memory that it is for
};

// Of all kinds, in their order.
[[nodiscard]] std::span<StoreTraits const> store_table();
[[nodiscard]] StoreTraits const& traits_of(StoreKind kind);

[[nodiscard]] std::string_view to_string(StoreKind kind);
[[nodiscard]] std::string_view to_string(PublishMode mode);

// Whether this CPU has the instruction.
[[nodiscard]] bool supported(StoreKind kind);

}  // namespace carillon::detail
