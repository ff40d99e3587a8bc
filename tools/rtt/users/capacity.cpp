// SPDX-License-Identifier: Apache-2.0
// The table by capacity: the cost of a large ring's pages.
#include <carillon/carillon.hpp>
#include <string>

#include "rtt/users/calls.hpp"

namespace carillon::tool {

void add_capacity_rows(UsersStage const& stage, UsersRows& rows) {
    for (std::uint32_t const capacity : {64U, 256U, 1024U, 4096U}) {
        KernelOptions options;
        options.capacity = capacity;
        std::string slots = "-";
        slots.append(std::to_string(capacity)).append("-slots");
        rows.push_back({"capacity",
                        "call" + slots,
                        {{"capacity", capacity}},
                        std::make_unique<UsersCall<Summing<48, 48>>>(stage, options)});
        rows.push_back({"capacity",
                        "raw-flag" + slots,
                        {{"capacity", capacity}},
                        std::make_unique<UsersFlags>(
                            stage, FlagLayout{.place = FlagPlace::in_a_row, .count = capacity})});
    }
}

}  // namespace carillon::tool
