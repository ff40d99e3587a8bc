// SPDX-License-Identifier: Apache-2.0
// The messages of `carillon-bench ipc` and the handler that answers them. Both are those of
// `carillon-bench soak`, with 48 bytes each way. A client can compute every byte of a reply except
// the block's count of requests, which goes up by one.
#pragma once

#include "kernels/soak_kernels.hpp"

namespace carillon::tool {

using IpcRequest = SoakRequest<1>;
using IpcReply = SoakReply<1>;
using IpcHandler = SoakHandler<1>;

[[nodiscard]] constexpr IpcRequest make_ipc_request(std::uint64_t client, std::uint64_t number) {
    return make_soak_request<1>(client, number);
}

}  // namespace carillon::tool
