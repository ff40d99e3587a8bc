// SPDX-License-Identifier: Apache-2.0
#include "carillon/detail/host/producer_registry.hpp"

#include <exception>
#include <thread>

namespace carillon::detail {

ProducerRegistry::ProducerRegistry(ProducerRecord* records, unsigned size)
    : records_(records), lives_(size), held_(size) {}

void ProducerRegistry::leave(unsigned number, std::function<void(unsigned)> const& bury) noexcept {
    lives_.leave(number, [&](unsigned index) {
        try {
            bury(index);
        } catch (std::exception const&) {  // non-coherent memory could not be read
        }
        // A thread that died during a claim may have left its end to another, which leaves here:
        // the claim must still be given up.
        return HostCached().load_word(&records_[index].begin) == ProducerRecord::none;
    });
}

void ProducerRegistry::give_up(unsigned number, MpmcRingView const& view,
                               HostMapped const& far) const noexcept {
    ProducerRecord* const own = record(number);
    if (own->begin == ProducerRecord::none || own->begin == ProducerRecord::claiming) return;
    try {
        give_up_claim(view, own->begin, own->end, far);
    } catch (std::exception const&) {  // the rest leaves with the next flush
    }
    ClaimRecord(own).done(HostCached());
}

unsigned ProducerRegistry::recover(MpmcRingView const& view, HostMapped const& far,
                                   HostCached const& near,
                                   std::function<void(unsigned)> const& bury) {
    auto const living = [&](std::size_t i) -> ProducerRecord const* {
        return lives_.in_use(static_cast<unsigned>(i)) ? records_ + i : nullptr;
    };
    return lives_.recover([&](std::vector<unsigned> const& dead) {
        for (unsigned i : dead) bury(i);
        // A claim takes a producer a few instructions, unless its thread does not run.
        constexpr int attempts = 10'000;
        bool done = false;
        for (int attempt = 0; !done && attempt < attempts; ++attempt) {
            done = give_up_claims(view, size(), living, far, near, held_.data());
            if (!done) std::this_thread::yield();
        }
        for (unsigned i : dead) {
            if (done) near.store_word(&records_[i].begin, ProducerRecord::none);
        }
        return done;
    });
}

}  // namespace carillon::detail
