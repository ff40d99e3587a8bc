// SPDX-License-Identifier: Apache-2.0
// See cpu/store_forms.hpp for what a form of stores has.
#pragma once

#include "carillon/detail/machine/cpu_atomics.hpp"
#include "carillon/detail/machine/store_traits.hpp"
#include "cpu/stores/registers.hpp"

namespace carillon::detail {
namespace {

// For cached memory.
struct CachedStores {
    static constexpr StoreTraits traits{StoreKind::cached, "cached", "", 8, PublishMode::one_step};
    static constexpr int bulk_rank = 0;

    static bool supported() { return true; }
    static bool rows_leave_whole() { return false; }

    [[gnu::hot]] static void store(Line* to, __m128i quad0, __m128i quad1, __m128i quad2,
                                   __m128i quad3) {
        store_each(to, quad0, quad1, quad2, quad3, [](__m128i* quad, __m128i value) {
            cpu::store_quad(reinterpret_cast<Quad*>(quad), __builtin_bit_cast(Quad, value));
        });
    }
};

}  // namespace
}  // namespace carillon::detail
