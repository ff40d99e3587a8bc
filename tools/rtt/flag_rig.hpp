// SPDX-License-Identifier: Apache-2.0
// The alternative to lines: bare flags each way between CPU threads and a block for each.
#pragma once

#include <carillon/carillon.hpp>
#include <cstdint>
#include <cstring>
#include <optional>

#include "kernels/rtt_kernels.hpp"
#include "measure/block_reports.hpp"
#include "rtt/measure.hpp"

namespace carillon::tool {

// Host memory for the replies of one block, as either side sees it.
struct FlagReplies {
    void* on_host;
    void* on_device;
    std::uint32_t count;  // a power of two
};

// The place of the requests' flags, one line each.
struct FlagLayout {
    FlagPlace place = FlagPlace::near_page;
    std::uint32_t count = 64;  // flags of a block, a power of two
    unsigned blocks = 1;
    bool pinned = false;  // page-locked host memory instead, its pages in a row
    // The page of host memory that holds a reply matters too. None: memory of its own, for as many
    // replies as a ring has by default.
    std::optional<FlagReplies> replies = std::nullopt;
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
        constexpr std::size_t pair = 2 * FlagField::page;
        std::size_t const size = layout.blocks * field_.stride() + pair;
        requests_ = layout.pinned ? device.allocate_host(size) : device.allocate(size);
        auto const address = reinterpret_cast<std::uintptr_t>(requests_.device_ptr());
        first_ = (pair - address % pair) % pair;
        if (!layout.replies) own_replies_ = device.allocate_host(replies_size());
    }

    // Starts blocks that answer `count` trips each, with so long pauses in all between them; they
    // run on return. Throws TimeoutError.
    void start(std::uint32_t count, std::chrono::nanoseconds pauses = {}) {
        reports_.clear();
        std::memset(requests_.host_ptr(), 0, requests_.size());
        requests_.flush(0, requests_.size());
        std::memset(host_view().replies, 0, replies_size());
        Bound const bound{kernel_limit_ns(count, pauses), device_.oversubscribed(layout_.blocks)};
        kernel_ = launch(device_, layout_.blocks, PlacedFlagEcho{device_view(), count, bound});
        reports_.await_started(kernel_);
    }

    // Makes round trips to a block that has started, from one thread at a time.
    class Trips {
       public:
        Trips(FlagRig const& rig, unsigned block)
            : requests_(rig.host_view().requests_of(block, rig.reports_.page(block))),
              replies_(rig.host_view().replies_of(block)),
              wait_(rig.wait_),
              fences_(!rig.layout_.pinned) {}

        // Makes trip number `i`, from 1 on. Throws TimeoutError.
        void operator()(std::uint32_t i) const {
            requests_[i].write(i);
            if (fences_) detail::X86::store_fence();
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

    // Waits until all trips were made. Throws TimeoutError.
    void await_end() const {
        if (!kernel_.wait(kernel_limit)) throw TimeoutError("rtt", "the flag kernel did not end");
    }

   private:
    static constexpr std::uint32_t default_replies = 256;

    [[nodiscard]] std::size_t replies_size() const {
        return layout_.replies ? layout_.replies->count * sizeof(detail::Line)
                               : layout_.blocks * field_.replies_stride();
    }
    [[nodiscard]] FlagField host_view() const {
        FlagField field = field_;
        field.requests = static_cast<std::byte*>(requests_.host_ptr()) + first_;
        field.replies = static_cast<std::byte*>(layout_.replies ? layout_.replies->on_host
                                                                : own_replies_.host_ptr());
        return field;
    }
    [[nodiscard]] FlagField device_view() const {
        FlagField field = field_;
        field.requests = static_cast<std::byte*>(requests_.device_ptr()) + first_;
        field.replies = static_cast<std::byte*>(layout_.replies ? layout_.replies->on_device
                                                                : own_replies_.device_ptr());
        field.reports = reports_.device_view();
        return field;
    }

    Device device_;
    FlagLayout layout_;
    HostWait wait_;
    FlagField field_{nullptr,
                     nullptr,
                     nullptr,
                     layout_.count,
                     layout_.replies ? layout_.replies->count : default_replies,
                     layout_.place};  // without its memory
    Memory requests_;
    std::size_t first_ = 0;  // where they begin in it
    Memory own_replies_;
    BlockReports reports_;
    RunningKernel kernel_;
};

}  // namespace carillon::tool
