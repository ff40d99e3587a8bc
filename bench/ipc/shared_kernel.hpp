// SPDX-License-Identifier: Apache-2.0
// The kernels of `carillon-bench ipc` whose clients are other processes.
#pragma once

#include <carillon/device.hpp>
#include <carillon/kernel_options.hpp>
#include <carillon/server.hpp>
#include <filesystem>
#include <functional>
#include <memory>

namespace carillon::tool {

// How clients are served: each by a block of its own (SharedChannels), or all by all blocks
// (SharedPool).
enum class Blocks : std::uint8_t { one_each, shared };

// A kernel for so many clients: with as many blocks, or as many as suit the device.
class SharedKernel {
   public:
    SharedKernel(Device const& device, KernelOptions options, Blocks blocks, unsigned clients);

    [[nodiscard]] Server serve(std::filesystem::path const& path) const { return serve_(path); }

   private:
    template <class Kernel>
    void own(std::shared_ptr<Kernel> kernel);

    std::function<Server(std::filesystem::path const&)> serve_;
};

}  // namespace carillon::tool
