// SPDX-License-Identifier: Apache-2.0
// What a kernel, and each of its blocks, is at.
#pragma once

#include <cstdint>
#include <string_view>

namespace carillon {

enum class KernelState : std::uint8_t {
    starting,  // not every block runs yet
    running,
    draining,  // takes no more requests, and answers those that it has
    stopped,   // every block has returned, or was told to and is about to
    failed,    // the device, or a handler, ended it by an error: running() throws it
};
[[nodiscard]] std::string_view to_string(KernelState state);

enum class BlockActivity : std::uint8_t {
    idle,   // looks for requests and finds none
    busy,   // has requests
    stuck,  // has been at one request for longer than stuck_after
    ended,
};
[[nodiscard]] std::string_view to_string(BlockActivity activity);

}  // namespace carillon
