// SPDX-License-Identifier: Apache-2.0
// Measures that several tables use. For sources that start kernels.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>
#include <utility>

#include "kernels/users_kernels.hpp"
#include "rtt/flag_rig.hpp"
#include "rtt/measure.hpp"
#include "rtt/users/users_rows.hpp"

namespace carillon::tool {

// Makes one call. Throws TimeoutError, and Error when another call's reply came.
template <class Handler, class Client>
void call_once(Client& client, std::uint32_t i) {
    if (!Handler::answers(client.call(Handler::request(i), round_trip_limit), i)) {
        throw Error("rtt", "the reply to another call came back");
    }
}

// Calls one after the other to a kernel that was made as users make theirs.
template <class Handler>
class UsersCall final : public UsersMeasure {
   public:
    explicit UsersCall(UsersStage stage, KernelOptions const& options = {})
        : stage_(std::move(stage)), options_(options) {}

    void run(std::uint32_t count, UsersFigures& figures) override {
        PersistentKernel<Handler> kernel(stage_.device, options_);
        auto& channel = kernel.channel();
        time_trips(stage_.warm_up, count, figures.latencies,
                   [&](std::uint32_t i) { call_once<Handler>(channel, i); });
        kernel.stop();
    }

   private:
    UsersStage stage_;
    KernelOptions options_;
};

// Bare flags instead.
class UsersFlags final : public UsersMeasure {
   public:
    UsersFlags(UsersStage const& stage, FlagLayout const& layout)
        : warm_up_(stage.warm_up), rig_(stage.device, layout) {}

    void run(std::uint32_t count, UsersFigures& figures) override {
        rig_.start(warm_up_ + count);
        time_trips(warm_up_, count, figures.latencies, rig_.trips());
        rig_.await_end();
    }

   private:
    std::uint32_t warm_up_;
    FlagRig rig_;
};

}  // namespace carillon::tool
