// SPDX-License-Identifier: Apache-2.0
// Options that nobody but tests has a use for. They stand in the options of rings and services, as
// `for_tests`.
#pragma once

#include "carillon/detail/wire/line.hpp"

namespace carillon {

using detail::Sequence;

struct ForTests {
    // Number of the first message, value, chunk or call: tests place it before a wrap. Of a ring
    // that is shared it is 1 more than a multiple of a stripe; of a HostService, of 16.
    Sequence first = 1;
};

}  // namespace carillon
