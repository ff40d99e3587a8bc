// SPDX-License-Identifier: Apache-2.0
// The rivals of lines: bare flags each way between CPU threads and a block for each.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>
#include <cstring>
#include <optional>

#include "kernels/rtt.hpp"
#include "measure/block_reports.hpp"
#include "rtt/measure.hpp"

namespace carillon::tool {

// Where the requests' flags are. The replies' are in page-locked host memory.
struct FlagLayout {
    FlagPlace place = FlagPlace::near_page;
    std::uint32_t count = 64;  // flags of a block, a power of two; one fills a line
    unsigned blocks = 1;
    bool pinned = false;  // in page-locked host memory; where it has pages in a row
};

class FlagRig {
   public:
    FlagRig(Device const& device, FlagLayout const& layout,
            std::optional<HostWait::Style> wait = {})
        : device_(device),
          layout_(layout),
          wait_(HostWait::for_kernel(device.traits(), layout.blocks, wait)),
          reports_(device, layout.blocks) {
        // The pages of a pair are neighbours, from an even one on.
        std::size_t const size = layout.blocks * host_.stride() + FlagField::page;
        requests_ = layout.pinned ? device.allocate_host(size) : device.allocate(size);
        replies_ = device.allocate_host(size);
        auto const address = reinterpret_cast<std::uintptr_t>(requests_.device_ptr());
        std::size_t const to_even = address & FlagField::page;
        host_.requests = static_cast<std::byte*>(requests_.host_ptr()) + to_even;
        host_.replies = static_cast<std::byte*>(replies_.host_ptr());
    }

    // Starts blocks that answer `count` trips each, and end by themselves after `limit_ns`; they
    // run on return. Throws TimeoutError.
    void start(std::uint32_t count, std::uint64_t limit_ns = kernel_limit_ns) {
        reports_.clear();
        std::memset(requests_.host_ptr(), 0, requests_.size());
        std::memset(replies_.host_ptr(), 0, replies_.size());
        requests_.flush(0, requests_.size());
        FlagField field = host_;
        auto const offset = host_.requests - static_cast<std::byte*>(requests_.host_ptr());
        field.requests = static_cast<std::byte*>(requests_.device_ptr()) + offset;
        field.replies = static_cast<std::byte*>(replies_.device_ptr());
        field.reports = reports_.device_view();
        Bound const bound{limit_ns, device_.oversubscribed(layout_.blocks)};
        kernel_ = launch(device_, layout_.blocks, PlacedFlagEcho{field, count, bound});
        reports_.await_started(kernel_);
    }

    // What one thread at a time needs for round trips to a block that has started.
    class Trips {
       public:
        Trips(FlagRig const& rig, unsigned block)
            : requests_(rig.host_.requests_of(block, rig.reports_.page(block))),
              replies_(rig.host_.replies_of(block)),
              wait_(rig.wait_),
              fences_(!rig.layout_.pinned) {}

        // Number `i`, from 1 on. Throws TimeoutError.
        void operator()(std::uint32_t i) const {
            requests_[i].write(i);
            if (fences_) X86::store_fence();
            await_flag(wait_, replies_[i], i);
        }

       private:
        Flags requests_;
        Flags replies_;
        HostWait wait_;
        bool fences_;
    };
    [[nodiscard]] Trips trips(unsigned block = 0) const { return {*this, block}; }

    [[nodiscard]] int sm() const { return reports_.sm(); }

    // Once all trips were made. Throws TimeoutError.
    void await_end() const {
        if (!kernel_.wait(kernel_limit)) throw TimeoutError("rtt", "the flag kernel did not end");
    }

   private:
    Device device_;
    FlagLayout layout_;
    HostWait wait_;
    Memory requests_;
    Memory replies_;
    FlagField host_{nullptr, nullptr, nullptr, layout_.count, layout_.place};
    BlockReports reports_;
    RunningKernel kernel_;
};

}  // namespace carillon::tool
