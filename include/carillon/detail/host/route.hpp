// SPDX-License-Identifier: Apache-2.0
// How requests reach the blocks of a kernel.
#pragma once

#include "carillon/launch.hpp"

namespace carillon::detail {
inline namespace CARILLON_TOOLCHAIN {

// Each way has one: Requests is Channels, WatchedChannels or Pool. It has the memory and the host's
// ends of a kernel with `Handler`, and knows which body the blocks run.
template <class Handler, class Requests>
class Route;

}  // namespace CARILLON_TOOLCHAIN
}  // namespace carillon::detail
