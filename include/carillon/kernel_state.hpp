// SPDX-License-Identifier: Apache-2.0
// The states of a kernel and of its blocks.
#pragma once

#include <cstdint>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// The state of a kernel.
enum class KernelState : std::uint8_t {
    starting,  // not every block runs yet
    running,
    draining,  // takes no more requests, and answers the accepted ones
    stopped,   // every block has returned, or is about to after a stop
    failed,    // an error of the device or of a handler ended it: running() throws that error
};
[[nodiscard]] std::string_view to_string(KernelState state);  // its name, such as "running"

// The state of a block.
enum class BlockActivity : std::uint8_t {
    idle,   // looks for requests and finds none
    busy,   // has requests
    stuck,  // has served one request for longer than stuck_after
    ended,
};
[[nodiscard]] std::string_view to_string(BlockActivity activity);  // its name, such as "idle"

}  // namespace carillon
