// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "ipc/shared_kernel.hpp"

#include <carillon/carillon.hpp>
#include <utility>

#include "kernels/ipc_kernels.hpp"

namespace carillon::tool {

template <class Kernel>
void SharedKernel::own(std::shared_ptr<Kernel> kernel) {
    serve_ = [kernel = std::move(kernel)](std::filesystem::path const& path) {
        return kernel->serve(path);
    };
}

SharedKernel::SharedKernel(Device const& device, KernelOptions options, Blocks blocks,
                           unsigned clients) {
    if (blocks == Blocks::one_each) {
        options.blocks = clients;
        own(std::make_shared<PersistentKernel<IpcHandler, SharedChannels>>(device, options));
    } else {
        options.shared_pool.clients = clients;
        own(std::make_shared<PersistentKernel<IpcHandler, SharedPool>>(device, options));
    }
}

}  // namespace carillon::tool
