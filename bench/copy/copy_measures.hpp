// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <carillon/carillon.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "measure/latency.hpp"

namespace carillon::tool {

enum class CopyDirection : bool { to_device, to_host };

// The memory that every measure copies between.
struct CopyStage {
    Device device;
    Memory there;       // on the device, mapped
    Memory here;        // page-locked, lest cudaMemcpyAsync and a writer need copies of their own
    Memory registered;  // page-locked too, by the program

    [[nodiscard]] std::byte* device_bytes() const {
        return static_cast<std::byte*>(there.host_ptr());
    }
    [[nodiscard]] std::byte* host_bytes() const { return static_cast<std::byte*>(here.host_ptr()); }
};

// One way of copying. run() appends the times of some copies of `bytes`, in nanoseconds.
class CopyMeasure {
   public:
    CopyMeasure(std::string name, CopyDirection direction)
        : name_(std::move(name)), direction_(direction) {}
    virtual ~CopyMeasure() = default;
    CopyMeasure(CopyMeasure const&) = delete;
    CopyMeasure& operator=(CopyMeasure const&) = delete;

    [[nodiscard]] std::string const& name() const { return name_; }
    [[nodiscard]] CopyDirection direction() const { return direction_; }
    // Larger copies are not measured: they would take too long.
    [[nodiscard]] virtual std::size_t most_bytes() const {
        return std::numeric_limits<std::size_t>::max();
    }
    virtual void run(std::size_t bytes, Samples& samples) = 0;

   private:
    std::string name_;
    CopyDirection direction_;
};

// Times `copy()`, once it was made without looking, for about two milliseconds.
template <class Copy>
void time_copies(Samples& samples, Copy&& copy) {
    using Clock = std::chrono::steady_clock;
    constexpr int most = 200;
    copy();
    auto const end = Clock::now() + std::chrono::milliseconds(2);
    for (int i = 0; i < most; ++i) {
        auto const start = Clock::now();
        copy();
        auto const now = Clock::now();
        samples.push_back(static_cast<std::uint32_t>((now - start).count()));
        if (now >= end) return;
    }
}

// cudaMemcpyAsync and a wait for it, both ways; none on the emulated device or in a build without
// nvcc.
[[nodiscard]] std::vector<std::unique_ptr<CopyMeasure>> make_driver_copies(CopyStage const& stage);

}  // namespace carillon::tool
