// SPDX-License-Identifier: Apache-2.0
// The simulated machine as a world of tests/traffic: what every scenario of a traffic needs.
#pragma once

#include <fmt/format.h>

#include <cstdint>

#include "adversary/machine/configuration.hpp"

namespace carillon::test {

class AdversaryWorld {
   public:
    explicit AdversaryWorld(Policies const& policies) : machine_(policies.machine()) {}
    AdversaryWorld(AdversaryWorld const&) = delete;  // its traffic refers to it
    AdversaryWorld& operator=(AdversaryWorld const&) = delete;

    template <class... Values>
    void require(bool holds, fmt::format_string<Values const&...> text,
                 Values const&... values) const {
        machine_.require(holds, text, values...);
    }

   protected:
    Machine& machine_;
};

}  // namespace carillon::test
