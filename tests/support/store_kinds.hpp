// SPDX-License-Identifier: Apache-2.0
// Every way of a CPU to store a line.
#pragma once

#include <string>
#include <vector>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::test {
using namespace detail;

// A name that GoogleTest accepts: "avx2TwoStep".
[[nodiscard]] inline std::string name_of(HostStores stores) {
    return std::string(to_string(stores.kind)) +
           (stores.mode == PublishMode::one_step ? "OneStep" : "TwoStep");
}

[[nodiscard]] inline std::vector<StoreKind> all_store_kinds() {
    std::vector<StoreKind> all;
    for (StoreTraits const& each : store_table()) all.push_back(each.kind);
    return all;
}

[[nodiscard]] inline std::vector<HostStores> all_stores() {
    std::vector<HostStores> all;
    for (StoreTraits const& each : store_table()) {
        all.push_back({each.kind, PublishMode::one_step});
        all.push_back({each.kind, PublishMode::two_step});
    }
    return all;
}

// Why these stores cannot be tested here; empty if they can.
[[nodiscard]] inline std::string why_not(HostStores stores) {
    if (!supported(stores.kind)) {
        return "this CPU lacks " + std::string(to_string(stores.kind)) + " stores";
    }
    if (CARILLON_THREAD_SANITIZER != 0 && stores.kind != StoreKind::cached) {
        return "the thread sanitizer does not see streaming stores";
    }
    return {};
}

}  // namespace carillon::test
