// SPDX-License-Identifier: Apache-2.0
// The alternative under load: a kernel launched for each message.
#include <carillon/carillon.hpp>

#include "load/targets.hpp"

#if CARILLON_DEVICE_CODE
#include "kernels/rtt_kernels.hpp"
#include "measure/driver_calls.hpp"

namespace carillon::tool {
namespace {

__global__ void answer_load(Flag flag, std::uint32_t value) { flag.write(value); }

class LaunchTarget final : public LoadTarget {
   public:
    explicit LaunchTarget(Device const& device)
        : flags_(device.allocate_host(slots * sizeof(detail::Line))) {}

    LoadRun run(Schedule const& schedule, std::uint64_t count, std::uint64_t window,
                Samples& latencies) override {
        LoadRun const run = run_schedule(schedule, count, std::min<std::uint64_t>(window, slots),
                                         load_limit_ns, *this, now_ns, latencies);
        check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
        first_ += static_cast<std::uint32_t>(count);
        return run;
    }

    bool try_send(std::uint64_t i) {
        std::uint32_t const number = number_of(i);
        answer_load<<<1, 1, 0, stream_.get()>>>(Flags{flags_.device_ptr(), slots}[number], number);
        check(cudaGetLastError(), "cudaLaunchKernel");
        return true;
    }

    bool try_take(std::uint64_t i) {
        std::uint32_t const number = number_of(i);
        return Flags{flags_.host_ptr(), slots}[number].read() == number;
    }

    void idle() {}

   private:
    static constexpr std::uint32_t slots = 64;

    [[nodiscard]] std::uint32_t number_of(std::uint64_t i) const {
        return first_ + static_cast<std::uint32_t>(i);
    }

    Memory flags_;
    Stream stream_;
    std::uint32_t first_ = 1;
};

}  // namespace

std::unique_ptr<LoadTarget> make_launch_target(Device const& device) {
    if (!device.traits().cuda) return nullptr;
    use_in_runtime(device.info());
    return std::make_unique<LaunchTarget>(device);
}

}  // namespace carillon::tool

#else

namespace carillon::tool {

std::unique_ptr<LoadTarget> make_launch_target(Device const& /*device*/) { return nullptr; }

}  // namespace carillon::tool

#endif
