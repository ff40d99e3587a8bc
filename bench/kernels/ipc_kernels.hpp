// SPDX-License-Identifier: Apache-2.0
// What `carillon-bench ipc` sends, and the handler that answers it: those of `carillon-bench soak`,
// 48 bytes each way. A client can compute every byte of a reply but the block's count of requests,
// which goes up by one.
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
