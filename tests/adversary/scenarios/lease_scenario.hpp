// SPDX-License-Identifier: Apache-2.0
// LeaseTraffic on the adversary's machine. A client's memory may have been an earlier client's.
#pragma once

#include <cstdint>
#include <string>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/seeds.hpp"
#include "traffic/lease_traffic.hpp"

namespace carillon::test {
using namespace detail;

class LeaseScenario : public AdversaryWorld {
   public:
    explicit LeaseScenario(Policies const& policies)
        : AdversaryWorld(policies),
          policies_(policies),
          traffic_(*this,
                   {reinterpret_cast<LeaseLine*>(machine_.device_lines()),
                    reinterpret_cast<LeaseStatus*>(machine_.host_lines()), ChannelShape{2}},
                   4 + machine_.random().below(8)) {}

    std::string run() {
        return machine_.run(
            [this] { traffic_.own(policies_.host_near(), policies_.host_far()); },
            [this] { traffic_.serve(policies_.device_near(), policies_.device_far()); });
    }

    LaidOut lay_out(std::uint64_t k) {
        std::uint32_t const memory = 2 + machine_.random().below(2);
        std::uint64_t* const laid_out = &machine_.device_lines()[memory].quads[0].low;
        answered_ = &machine_.host_lines()[memory].quads[0].low;
        auto const far = policies_.host_far();
        far.store_word(laid_out, k);
        far.commit(laid_out, sizeof(k));
        wipe();
        return {reinterpret_cast<std::byte*>(laid_out), reinterpret_cast<std::byte*>(answered_)};
    }
    // The memory is free for something else, and no late answer comes.
    void take_back() const {
        wipe();
        look(0);
    }
    void look(std::uint64_t k) const {
        for (std::uint32_t i = machine_.random().below(30); i != 0; --i) {
            std::uint64_t const found = policies_.host_near().load_word(answered_);
            require(found == 0 || found == k, "an answer to lease {} in that of {}", found, k);
            machine_.pause(Side::host);
        }
    }

    [[nodiscard]] std::uint64_t laid_out(ChannelTable const& place) const {
        return policies_.device_near().load_word(
            reinterpret_cast<std::uint64_t const*>(place.in_device_memory));
    }
    void answer(ChannelTable const& place, std::uint64_t k) const {
        policies_.device_far().store_word(reinterpret_cast<std::uint64_t*>(place.in_host_memory),
                                          k);
    }
    [[nodiscard]] static bool answers_again() { return true; }
    static void tried(bool /*any*/) {}

   private:
    void wipe() const {
        machine_.exchange(Side::host, answered_, [](std::uint64_t) { return 0; });
    }

    Policies const& policies_;
    std::uint64_t* answered_ = nullptr;  // in the memory of the present lease
    LeaseTraffic<LeaseScenario> traffic_;
};

}  // namespace carillon::test
