// SPDX-License-Identifier: Apache-2.0
// A bare line each way, ring to ring. A call's time minus this is what the call adds. For sources
// that start kernels.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>
#include <iterator>

#include "kernels/rtt_kernels.hpp"
#include "measure/block_reports.hpp"

namespace carillon::tool {

class LineRig {
   public:
    // A block that answers `count` lines, with so long pauses in all between them; it runs on
    // return. Throws TimeoutError.
    LineRig(Device const& device, std::uint32_t count, RingOptions const& options = {},
            std::chrono::nanoseconds pauses = {})
        : requests_(device, options), replies_(device, options), reports_(device) {
        Bound const bound{kernel_limit_ns(count, pauses), device.oversubscribed(1)};
        kernel_ = launch(device, 1,
                         LineEcho{requests_.device_handle(), replies_.device_handle(),
                                  reports_.device_view(), count, bound});
        reports_.await_started(kernel_);
    }

    [[nodiscard]] int sm() const { return reports_.sm(); }

    // Round trip number `i`. Throws TimeoutError; Error when another line came back.
    void trip(std::uint32_t i) {
        std::uint32_t& word = words_.word[i % std::size(words_.word)];
        word = i;
        if (!requests_.try_push(words_)) throw TimeoutError("measure", "a line found no room");
        Words const answer = replies_.pop(round_trip_limit);
        if (answer.word[i % std::size(words_.word)] != i) {
            throw Error("measure", "a line came back with another content");
        }
    }

    // Waits until all `count` trips were made. Throws TimeoutError.
    void await_end() const {
        if (!kernel_.wait(kernel_limit)) throw TimeoutError("measure", "the echo did not end");
    }

   private:
    Ring<Words, Direction::to_device> requests_;
    Ring<Words, Direction::to_host> replies_;
    BlockReports reports_;
    Words words_{};
    RunningKernel kernel_;
};

}  // namespace carillon::tool
