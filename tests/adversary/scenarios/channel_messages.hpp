// SPDX-License-Identifier: Apache-2.0
// The requests and replies of a channel in a scenario, and the device's instructions.
#pragma once

#include <cstdint>

#include "adversary/machine/configuration.hpp"
#include "traffic/channel_traffic.hpp"

namespace carillon::test {
using namespace detail;

struct AdversaryClock {
    static void idle(std::uint32_t /*polls*/) {}
    static void sleep(std::uint32_t /*ns*/) {}
    [[nodiscard]] static std::uint64_t now_ns() { return 0; }
    [[nodiscard]] static std::uint64_t ticks() { return 0; }
    [[nodiscard]] static std::uint32_t sm() { return sm_in_test; }
};

// Messages whose Request::make(i) is request i. Both ways they refer to data, so replies are stored
// quad by quad.
template <class RequestType, class ReplyType, class GpuType = AdversaryGpu>
struct ChannelMessages {
    using Request = RequestType;
    using Reply = ReplyType;
    using Gpu = GpuType;
    using Near = BasicDeviceNear<Gpu>;
    using Far = BasicDeviceFar<Gpu>;
    static constexpr bool replies_refer = true;
    // Whether the device loads a request's data when a branch has found the request there. By the
    // documents an acquire has to order that, but a row has one acquire for several requests.
    static constexpr bool branches = false;

    static Far far(Machine& machine) { return Far(Gpu(machine)); }
};

// Replies refer to nothing: requests that are there are served in rows.
template <class Request, class Reply>
struct RowMessages : ChannelMessages<Request, Reply> {
    static constexpr bool replies_refer = false;
    static constexpr bool branches = true;
};

// RowMessages on a GPU that has bulk copies.
template <class Request, class Reply>
struct BulkMessages : RowMessages<Request, Reply> {
    using Gpu = AdversaryBulkGpu;
    using Near = BasicDeviceNear<Gpu>;
    using Far = BasicDeviceBulkFar<Gpu>;

    static Far far(Machine& machine) {
        if (machine.random().one_in(8)) machine.drag_copies();
        return Far(machine.random().one_in(2), Gpu(machine));  // a block of many or of few
    }
};

}  // namespace carillon::test
