// SPDX-License-Identifier: Apache-2.0
// The table of the ways to store a line: one type each, in the order of StoreKind. To add one, name
// it there, write a file like these, and name its type here. Types are internal to a source file,
// so that the compiler sees all callers of their functions.
//
// Such a type has
// - traits: what is known of it;
// - bulk_rank: of two that a CPU has, the greater is the faster for many lines in a row;
// - supported(): whether this CPU has it;
// - rows_leave_whole(): whether no line of a row that it stores leaves this CPU in pieces, so that
//   rows need no second step;
// - store(to, quads...): stores one line, which comes in registers;
// - copy_lines(to, from, count): copies whole lines, `to` aligned; not that of `cached`;
// and, if it has a way of its own,
// - store_payloads(to, payloads, count, tag): lines in a row, as X86::store_payloads.
#pragma once

#include <concepts>
#include <cstddef>

#include "carillon/detail/machine/store_traits.hpp"
#include "cpu/stores/avx2.hpp"
#include "cpu/stores/avx512.hpp"
#include "cpu/stores/cached.hpp"
#include "cpu/stores/movdir64b.hpp"
#include "cpu/stores/sse2.hpp"

namespace carillon::detail {

template <class Form>
concept StoresPayloads = requires {
    &Form::store_payloads;
};
template <class Form>
concept CopiesLines = requires {
    &Form::copy_lines;
};

template <class... Form>
struct StoreForms {
    static constexpr std::size_t count = sizeof...(Form);

    // Calls use(form) with the one of that kind, if it can be called so; returns whether it was.
    // Inlined, it is a switch.
    template <class Use>
    [[gnu::always_inline]] static bool with(StoreKind kind, Use&& use) {
        return (with_one<Form>(kind, use) || ...);
    }
    // Returns use(form...) of all, in their order.
    template <class Use>
    static constexpr auto all(Use&& use) {
        return use(Form()...);
    }

   private:
    template <class One, class Use>
    [[gnu::always_inline]] static bool with_one(StoreKind kind, Use& use) {
        if constexpr (std::invocable<Use&, One>) {
            if (kind != One::traits.kind) return false;
            use(One());
            return true;
        } else {
            return false;
        }
    }
};

using AllStores = StoreForms<CachedStores, Sse2Stores, Avx2Stores, Avx512Stores, Movdir64bStores>;

template <class Form>
constexpr bool copies = CopiesLines<Form> || Form::traits.kind == StoreKind::cached;
static_assert(AllStores::all([](auto... form) { return (copies<decltype(form)> && ...); }));

}  // namespace carillon::detail
