// SPDX-License-Identifier: Apache-2.0
#include "cpu/stores.hpp"

#include <algorithm>
#include <array>

#include "carillon/copy.hpp"
#include "carillon/detail/access/host_mapped.hpp"

namespace carillon {
namespace {

using detail::AllStores;

constexpr std::array<StoreTraits, AllStores::count> table = AllStores::all(
    [](auto... form) -> std::array<StoreTraits, AllStores::count> { return {form.traits...}; });

constexpr bool in_the_order_of_kinds() {
    for (std::size_t i = 0; i < table.size(); ++i) {
        if (static_cast<std::size_t>(table[i].kind) != i) return false;
    }
    return true;
}
static_assert(in_the_order_of_kinds());

bool rows_leave_whole(StoreKind kind) {
    bool whole = false;
    (void)AllStores::with(kind, [&](auto form) { whole = form.rows_leave_whole(); });
    return whole;
}

}  // namespace

std::span<StoreTraits const> store_table() { return table; }

StoreTraits const& traits_of(StoreKind kind) { return table.at(static_cast<std::size_t>(kind)); }

std::string_view to_string(StoreKind kind) { return traits_of(kind).name; }

std::string_view to_string(PublishMode mode) {
    return mode == PublishMode::one_step ? "one-step" : "two-step";
}

bool supported(StoreKind kind) {
    bool has = false;
    (void)AllStores::with(kind, [&](auto form) { has = form.supported(); });
    return has;
}

StoreKind best_copy_stores() {
    static StoreKind const best = [] {
        StoreKind fastest = StoreKind::sse2;
        int rank = 0;
        AllStores::all([&](auto... form) {
            ((form.bulk_rank > rank && form.supported()
                  ? (void)(fastest = form.traits.kind, rank = form.bulk_rank)
                  : (void)0),
             ...);
        });
        return fastest;
    }();
    return best;
}

HostStores best_mapped_stores() {
    static HostStores const best = [] {
        auto const widest = std::find_if(table.rbegin(), table.rend(), [](StoreTraits const& each) {
            return supported(each.kind);
        });
        HostStores stores{widest->kind, widest->mode};
        StoreKind const bulk = best_copy_stores();
        if (bulk != stores.kind && rows_leave_whole(bulk)) stores.bulk = bulk;
        return stores;
    }();
    return best;
}

}  // namespace carillon
