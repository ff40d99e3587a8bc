// SPDX-License-Identifier: Apache-2.0
#include "cpu/store_forms.hpp"

#include <algorithm>
#include <array>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/stream_copy.hpp"

namespace carillon {
namespace {

using detail::AllStores;

constexpr std::array<detail::StoreTraits, AllStores::count> table =
    AllStores::all([](auto... form) -> std::array<detail::StoreTraits, AllStores::count> {
        return {form.traits...};
    });

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

std::span<detail::StoreTraits const> detail::store_table() { return table; }

detail::StoreTraits const& detail::traits_of(StoreKind kind) {
    return table.at(static_cast<std::size_t>(kind));
}

std::string_view detail::to_string(StoreKind kind) { return detail::traits_of(kind).name; }

std::string_view detail::to_string(PublishMode mode) {
    return mode == detail::PublishMode::one_step ? "one-step" : "two-step";
}

bool detail::supported(StoreKind kind) {
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

detail::HostStores detail::best_mapped_stores() {
    static detail::HostStores const best = [] {
        auto const widest =
            std::find_if(table.rbegin(), table.rend(),
                         [](detail::StoreTraits const& each) { return supported(each.kind); });
        detail::HostStores stores{widest->kind, widest->mode};
        StoreKind const bulk = best_copy_stores();
        if (bulk != stores.kind && rows_leave_whole(bulk)) stores.bulk = bulk;
        return stores;
    }();
    return best;
}

}  // namespace carillon
