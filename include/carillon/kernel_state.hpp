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
    draining,  // takes no more requests, and answers those that it has
    stopped,   // every block has returned, or was told to and is about to
    failed,    // the device, or a handler, ended it by an error: running() throws it
};
[[nodiscard]] std::string_view to_string(KernelState state);  // its name, as "running"

// The state of a block.
enum class BlockActivity : std::uint8_t {
    idle,   // looks for requests and finds none
    busy,   // has requests
    stuck,  // has been at one request for longer than stuck_after
    ended,
};
[[nodiscard]] std::string_view to_string(BlockActivity activity);  // its name, as "idle"

}  // namespace carillon
