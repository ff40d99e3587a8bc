// SPDX-License-Identifier: Apache-2.0
// The requests and replies of a channel in a scenario, and the device's handler.
#pragma once

#include <cstdint>

#include "adversary/machine/configuration.hpp"
#include "carillon/detail/protocol/ring_view.hpp"

namespace carillon::test {
using namespace detail;

inline constexpr std::uint64_t sm_in_test = 7;

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
struct ChannelTraffic {
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
struct RowTraffic : ChannelTraffic<Request, Reply> {
    static constexpr bool replies_refer = false;
    static constexpr bool branches = true;
};

// RowTraffic on a GPU that has bulk copies.
template <class Request, class Reply>
struct BulkTraffic : RowTraffic<Request, Reply> {
    using Gpu = AdversaryBulkGpu;
    using Near = BasicDeviceNear<Gpu>;
    using Far = BasicDeviceBulkFar<Gpu>;

    static Far far(Machine& machine) {
        if (machine.random().one_in(8)) machine.drag_copies();
        return Far(machine.random().one_in(2), Gpu(machine));  // a block of many or of few
    }
};

// Request i names a word for the device; the reply to it names one for the host.
template <class Traffic>
class AdversaryHandler {
   public:
    static constexpr bool out_of_line = Traffic::replies_refer;
    AdversaryHandler(Policies const& policies, RingView const& requests,
                     OutOfLineWords const& requested)
        : machine_(policies.machine()),
          requests_(requests),
          requested_(requested),
          replied_(policies, Side::device) {}

    typename Traffic::Reply operator()(typename Traffic::Request const& request) {
        machine_.require(request == Traffic::Request::make(served_), "request {} is wrong",
                         served_);
        if constexpr (Traffic::branches) {
            // In whichever page the device looks; of the other it has seen nothing.
            machine_.decide(requests_.slot(requests_.first + served_));
            machine_.decide(requests_.slot(requests_.first + served_, ~PageWord{0}));
        }
        auto const at = static_cast<std::uint32_t>(served_);
        machine_.require(requested_.read(at) == served_ + 1, "request {} without data", served_);
        if constexpr (out_of_line) {
            replied_.write(at, ~served_);
        } else {
            for (std::uint32_t i = machine_.random().below(64); i != 0; --i) {
                machine_.pause(Side::device);  // and the next requests come meanwhile
            }
        }
        return Traffic::Reply::make(~served_++);
    }
    [[nodiscard]] bool replied(std::uint64_t request) const {
        auto const at = static_cast<std::uint32_t>(request);
        return !out_of_line || replied_.read(at) == ~request;
    }
    [[nodiscard]] std::uint64_t served() const { return served_; }

   private:
    Machine& machine_;
    RingView requests_;
    OutOfLineWords const& requested_;
    OutOfLineWords replied_;
    std::uint64_t served_ = 0;
};

}  // namespace carillon::test
