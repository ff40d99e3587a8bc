// SPDX-License-Identifier: Apache-2.0
// The owner of a kernel lends a block to one client after another. A client's memory may have been
// an earlier client's; the block serves the present client.
#pragma once

#include <cstdint>
#include <string>

#include "adversary/machine/seeds.hpp"
#include "carillon/detail/protocol/lease.hpp"

namespace carillon::test {
using namespace detail;

// Each channel needs only two words: one that the owner lays out, and one that the block answers
// into. Lease k, from 1 on, has k in the first and gets k in the second.
class LeaseScenario {
   public:
    explicit LeaseScenario(Policies const& policies)
        : machine_(policies.machine()),
          policies_(policies),
          leases_(4 + machine_.random().below(8)),
          table_{reinterpret_cast<LeaseLine*>(machine_.device_lines()),
                 reinterpret_cast<LeaseStatus*>(machine_.host_lines()), ChannelShape{2}} {}

    std::string run() {
        return machine_.run([this] { owner(); }, [this] { block(); });
    }

   private:
    static constexpr std::uint32_t places = 2;

    // The two words of a client's memory.
    [[nodiscard]] std::uint64_t* laid_out(std::uint32_t place) const {
        return &machine_.device_lines()[2 + place].quads[0].low;
    }
    [[nodiscard]] std::uint64_t* answered(std::uint32_t place) const {
        return &machine_.host_lines()[2 + place].quads[0].low;
    }

    void owner() {
        LeaseWriter writer(table_, 0, policies_.host_near(), policies_.host_far());
        for (std::uint64_t k = 1; k <= leases_; ++k) {
            std::uint32_t const place = machine_.random().below(places);
            lay_out(place, k);
            writer.begin({bytes(laid_out(place)), bytes(answered(place)), 1, table_.shape, k,
                          nullptr, k % 2 != 0});
            look(place, k);
            writer.end();
            while (!writer.over()) look(place, k);
            // Now the memory is free for something else.
            machine_.exchange(Side::host, answered(place), [](std::uint64_t) { return 0; });
            look(place, 0);
        }
        finished_ = true;
    }

    void lay_out(std::uint32_t place, std::uint64_t k) {
        auto const far = policies_.host_far();
        far.store_word(laid_out(place), k);
        far.commit(laid_out(place), sizeof(k));
        machine_.exchange(Side::host, answered(place), [](std::uint64_t) { return 0; });
    }

    // Requires that every answer found is lease `k`'s, or none.
    void look(std::uint32_t place, std::uint64_t k) {
        for (std::uint32_t i = machine_.random().below(30); i != 0; --i) {
            std::uint64_t const found = policies_.host_near().load_word(answered(place));
            machine_.require(found == 0 || found == k, "an answer to lease {} in that of {}", found,
                             k);
            machine_.pause(Side::host);
        }
    }

    void block() {
        LeaseReader const lease(table_, 0, policies_.device_near(), policies_.device_far());
        std::uint64_t seen = 0;
        while (!finished_) {
            std::uint64_t const number = lease.number();
            machine_.require(number >= seen, "number {} after {}", number, seen);
            if (number == seen) continue;
            seen = number;
            if (is_leased(number)) {
                serve(lease, number);
            } else {
                look_back(lease, number / 2);
                lease.report_free(number);
            }
        }
    }

    // A lease that is over, and that the block may not have seen, lies there until it has left it.
    template <class Lease>
    void look_back(Lease const& lease, std::uint64_t k) {
        ChannelTable const place = lease.place();
        machine_.require(place.first == k, "lease {} that is over has the place of lease {}", k,
                         place.first);
        std::uint64_t const found = policies_.device_near().load_word(
            reinterpret_cast<std::uint64_t const*>(place.in_device_memory));
        machine_.require(found == k, "lease {} that is over has memory of lease {}", k, found);
    }

    template <class Lease>
    void serve(Lease const& lease, std::uint64_t number) {
        std::uint64_t const k = (number + 1) / 2;
        ChannelTable const place = lease.place();
        machine_.require(place.first == k && place.in_pairs == (k % 2 != 0),
                         "lease {} with the place of lease {}", k, place.first);
        std::uint64_t const found = policies_.device_near().load_word(
            reinterpret_cast<std::uint64_t const*>(place.in_device_memory));
        machine_.require(found == k, "lease {} in memory of lease {}", k, found);
        auto* const answer = reinterpret_cast<std::uint64_t*>(place.in_host_memory);
        do policies_.device_far().store_word(answer, k);
        while (lease.number() == number);
    }

    [[nodiscard]] static std::byte* bytes(std::uint64_t* words) {
        return reinterpret_cast<std::byte*>(words);
    }

    Machine& machine_;
    Policies const& policies_;
    std::uint64_t leases_;
    LeaseTable table_;
    bool finished_ = false;  // between the bodies, past the machine
};

}  // namespace carillon::test
