// SPDX-License-Identifier: Apache-2.0
#include "unit/names_without_rtti.hpp"

#if defined(__cpp_rtti)
#error compile it with -fno-rtti
#endif

namespace carillon::test {

std::vector<std::string> names_without_rtti() {
    using Pair = NamedPair<NamedTick, NamedTick>;
    return {detail::mangled_name<NamedTick>(), detail::mangled_name<Pair>(),
            detail::mangled_name<Pair[3]>(), detail::mangled_name<NamedSide>()};
}

std::uint64_t members_without_rtti() { return detail::members_of<NamedOrder>(); }

}  // namespace carillon::test
