// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace carillon {

// What a channel asks about the kernel at its other end.
class ChannelPeer {
   public:
    virtual ~ChannelPeer() = default;
    // Throws StoppedError when no request is taken any more, and what ended the kernel. One cached
    // load: it is made on every request.
    virtual void require_open(std::string_view call) const = 0;
    // Throws StoppedError, or what ended it, when the kernel has ended. Called from long waits.
    virtual void require_alive(std::string_view call) = 0;
};

}  // namespace carillon
