// SPDX-License-Identifier: Apache-2.0
// Options that are of use only to tests. They are the member `for_tests` of the options of rings
// and services.
#pragma once

#include "carillon/detail/wire/line.hpp"

namespace carillon {

using detail::Sequence;

struct ForTests {
    // Number of the first message, value, chunk or call: tests place it before a wrap. In an MPMC
    // ring it is 1 more than a multiple of a stripe, in a HostService 1 more than a multiple of 16.
    Sequence first = 1;
};

}  // namespace carillon
