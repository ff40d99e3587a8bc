// SPDX-License-Identifier: Apache-2.0
// The ways in which an x86 CPU stores a line, and their traits. src/cpu/stores/ implements them;
// src/cpu/store_forms.hpp says how to add one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// The instruction that stores a line; the narrowest first.
enum class StoreKind : std::uint8_t {
    cached,     // two 8-byte atomics per quad: for cached memory, the emulated device's
    sse2,       // four 16-byte streaming stores
    avx2,       // two 32-byte streaming stores
    avx512,     // one 64-byte streaming store
    movdir64b,  // one 64-byte direct store, which the CPU documents as a single write
};

// one_step stores payload and tags together. two_step stores the payload under the slot's previous
// tags, fences, and stores the tags. CPUs without MOVDIR64B need that: their write-combining
// buffers may be evicted in 8-byte pieces half way through a line.
enum class PublishMode : std::uint8_t { one_step, two_step };

// The traits of a kind.
struct StoreTraits {
    StoreKind kind;
    std::string_view name;
    std::string_view feature;  // the CPU's, as in /proc/cpuinfo; empty: all CPUs have it
    std::size_t width;         // bytes that one instruction stores
    PublishMode mode;          // for a single line in the kind's memory
};

// The traits of all kinds, in their order.
[[nodiscard]] std::span<StoreTraits const> store_table();
[[nodiscard]] StoreTraits const& traits_of(StoreKind kind);

[[nodiscard]] std::string_view to_string(StoreKind kind);
[[nodiscard]] std::string_view to_string(PublishMode mode);

// Whether this CPU has the instruction.
[[nodiscard]] bool supported(StoreKind kind);

}  // namespace carillon::detail
