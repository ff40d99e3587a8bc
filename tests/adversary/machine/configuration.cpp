// SPDX-License-Identifier: Apache-2.0
#include "adversary/machine/configuration.hpp"

namespace carillon::test {
using namespace detail;
namespace {

// A line that crosses the bus in words must not carry a tag ahead of its payload. Only in two steps
// can that be had of an ordinary store; a direct store is not torn.
bool sound(HostStores stores, Pieces pieces) {
    if (stores.kind == StoreKind::movdir64b) return stores.mode == PublishMode::one_step;
    return stores.mode == PublishMode::two_step || pieces == Pieces::quads;
}

void add_sound(std::vector<Configuration>& configurations, std::vector<StoreKind> const& kinds,
               Bus bus) {
    for (StoreKind const kind : kinds) {
        for (PublishMode const mode : {PublishMode::one_step, PublishMode::two_step}) {
            HostStores const stores{kind, mode};
            if (sound(stores, bus.pieces)) configurations.push_back({bus, stores});
        }
    }
}

}  // namespace

std::string name_of(Configuration const& configuration) {
    Bus const& bus = configuration.bus;
    std::string name(to_string(configuration.stores.kind));
    name += configuration.stores.mode == PublishMode::one_step ? "InOneStep" : "InTwoSteps";
    if (configuration.stores.bulk)
        name += "Bulk" + std::string(to_string(*configuration.stores.bulk));
    name += bus.pieces == Pieces::quads ? "AsQuads" : "AsWords";
    if (!bus.coherent()) name += "NonCoherent" + std::to_string(bus.atom);
    if (!bus.fences_order) name += "Unordered";
    if (configuration.read_back) name += "WithReadBack";
    return name;
}

std::vector<Configuration> all_configurations() {
    using enum StoreKind;
    std::vector<Configuration> configurations;
    configurations.push_back({{}, {movdir64b, PublishMode::one_step, avx512}});
    for (Pieces const pieces : {Pieces::quads, Pieces::words}) {
        add_sound(configurations, {sse2, avx2, avx512, movdir64b}, {.pieces = pieces});
        for (std::uint32_t const atom : {64U, 256U}) {
            Bus bus{.pieces = pieces, .write_combining = false, .atom = atom};
            add_sound(configurations, {cached}, bus);
            bus.write_combining = true;
            // Direct stores stay in whole quads only as far as the copy.
            if (pieces == Pieces::quads) add_sound(configurations, {movdir64b}, bus);
            add_sound(configurations, {sse2}, bus);
        }
    }
    return configurations;
}

std::vector<Configuration> one_configuration_for_each_bus() {
    std::vector<Configuration> configurations;
    for (Pieces const pieces : {Pieces::quads, Pieces::words}) {
        for (std::uint32_t const atom : {0U, 64U, 256U}) {
            configurations.push_back({.bus = {.pieces = pieces, .atom = atom}});
        }
    }
    HostStores const cached{StoreKind::cached, PublishMode::one_step};
    configurations.push_back({{.write_combining = false, .atom = 64}, cached});
    return configurations;
}

}  // namespace carillon::test
