// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/machine/x86.hpp"

#include "cpu/store_forms.hpp"

namespace carillon {

using detail::AllStores;

void detail::X86::store_payloads(StoreKind kind, detail::Line* to, void const* payloads,
                                 std::size_t count, detail::Tag first) {
    auto const* payload = static_cast<std::byte const*>(payloads);
    if (AllStores::with(kind, [&](detail::StoresPayloads auto form) {
            form.store_payloads(to, payload, count, first);
        })) {
        return;
    }
    for (std::size_t i = 0; i < count; ++i, payload += detail::payload_bytes) {
        store_line(kind, to + i,
                   detail::pack_payload(payload, first + static_cast<detail::Tag>(i)));
    }
}

[[gnu::hot]] void detail::X86::store_quads(StoreKind kind, detail::Line* to, __m128i quad0,
                                           __m128i quad1, __m128i quad2, __m128i quad3) {
    (void)AllStores::with(kind, [&](auto form) { form.store(to, quad0, quad1, quad2, quad3); });
}

void detail::X86::prefetch_stores(StoreKind kind) {
    constexpr std::size_t lines = 4;
    detail::cpu::prefetch_code(&store_quads, lines);
    (void)AllStores::with(
        kind, [](auto form) { detail::cpu::prefetch_code(&decltype(form)::store, lines); });
}

}  // namespace carillon
