// SPDX-License-Identifier: Apache-2.0
// Leases of one place, one after the other, in every world: under the adversary and under Relacy. A
// channel needs only two words: the owner lays one out, and the block answers into the other. Lease
// k, from 1 on, has k in the first and gets k in the second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "carillon/detail/protocol/lease.hpp"

namespace carillon::test {
using namespace detail;

using LaidOut = std::pair<std::byte*, std::byte*>;  // for the device, for the host

// A world says what the protocol leaves open:
//   lay_out(k)  prepares the memory of lease k, and says where it is
//   take_back()  uses the memory for something else
//   look(k)  the owner looks at the answers: they are lease k's, or there is none
//   laid_out(place), answer(place, k)  the block's access to that memory
//   answers_again()  whether the block answers more than once
//   tried(any)  one end has looked: lets the other go on
template <class World>
class LeaseTraffic {
   public:
    LeaseTraffic(World& world, LeaseTable const& table, std::uint64_t count)
        : world_(world), table_(table), count_(count) {}

    template <class Near, class Far>
    void own(Near near, Far far) {
        LeaseWriter writer(table_, 0, near, far);
        for (std::uint64_t k = 1; k <= count_; ++k) {
            writer.begin(lay_out(k));
            world_.look(k);
            writer.end();
            while (!writer.over()) {
                world_.look(k);
                world_.tried(false);
            }
            world_.take_back();
        }
        writer.begin(lay_out(count_ + 1));  // tells the block to end
    }

    template <class Near, class Far>
    void serve(Near near, Far far) {
        LeaseReader const lease(table_, 0, near, far);
        for (std::uint64_t seen = 0;;) {
            std::uint64_t const number = lease.number();
            world_.require(number >= seen, "number {} after {}", number, seen);
            world_.tried(number != seen);
            if (number == seen) continue;
            seen = number;
            std::uint64_t const k = (number + 1) / 2;
            ChannelTable const place = lease.place();
            check(place, k);
            if (k > count_) return;
            if (is_leased(number)) {
                do world_.answer(place, k);
                while (world_.answers_again() && lease.number() == number);
            } else {
                lease.report_free(number);
            }
        }
    }

   private:
    [[nodiscard]] static bool in_pairs(std::uint64_t k) { return k % 2 != 0; }
    [[nodiscard]] ChannelTable lay_out(std::uint64_t k) {
        auto const [device, host] = world_.lay_out(k);
        return {device, host, 1, table_.shape, k, nullptr, in_pairs(k)};
    }

    // A lease that is over lies there too, until the block has reported that it has left it.
    void check(ChannelTable const& place, std::uint64_t k) {
        world_.require(place.first == k && place.in_pairs == in_pairs(k),
                       "lease {} with the place of lease {}", k, place.first);
        std::uint64_t const found = world_.laid_out(place);
        world_.require(found == k, "lease {} in memory of lease {}", k, found);
    }

    World& world_;
    LeaseTable table_;
    std::uint64_t count_;
};

}  // namespace carillon::test
