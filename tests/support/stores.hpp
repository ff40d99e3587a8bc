// SPDX-License-Identifier: Apache-2.0
// Every way in which a CPU may store a line.
#pragma once

#include <string>
#include <vector>

#include "carillon/detail/access/host_mapped.hpp"
#include "carillon/detail/wire/config.hpp"

namespace carillon::test {

// A name that GoogleTest accepts: "avx2TwoStep".
[[nodiscard]] inline std::string name_of(HostStores stores) {
    return std::string(to_string(stores.kind)) +
           (stores.mode == PublishMode::one_step ? "OneStep" : "TwoStep");
}

[[nodiscard]] inline std::vector<HostStores> all_stores() {
    std::vector<HostStores> all;
    for (StoreKind kind : {StoreKind::cached, StoreKind::sse2, StoreKind::avx2, StoreKind::avx512,
                           StoreKind::movdir64b}) {
        all.push_back({kind, PublishMode::one_step});
        all.push_back({kind, PublishMode::two_step});
    }
    return all;
}

// Why these stores cannot be tested here; empty if they can.
[[nodiscard]] inline std::string why_not(HostStores stores) {
    if (!supported(stores.kind)) {
        return "this CPU has no " + std::string(to_string(stores.kind)) + " stores";
    }
    if (CARILLON_THREAD_SANITIZER != 0 && stores.kind != StoreKind::cached) {
        return "the thread sanitizer does not see streaming stores";
    }
    return {};
}

}  // namespace carillon::test
