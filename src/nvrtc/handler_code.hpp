// SPDX-License-Identifier: Apache-2.0
// A handler that was compiled from text, and the devices that have loaded it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "carillon/bytes.hpp"
#include "carillon/detail/kernel/text_kernel.hpp"
#include "carillon/device.hpp"
#include "carillon/handler_text.hpp"
#include "carillon/kernel_options.hpp"
#include "carillon/launch.hpp"
#include "device/backend.hpp"
#include "nvrtc/handler_source.hpp"

namespace carillon::detail {

// A handler's machine code, and the devices that have loaded it. Any thread may call it.
class HandlerCode {
   public:
    HandlerCode(BytesType request, BytesType reply, int compute_capability, std::string cubin,
                std::string log, bool was_cached);

    [[nodiscard]] static CompiledHandler handler(std::shared_ptr<HandlerCode> code) {
        return CompiledHandler(std::move(code));
    }
    [[nodiscard]] static HandlerCode& of(CompiledHandler const& handler) { return *handler.code_; }

    // Loads it on the device if necessary. Throws UsageError for a device of another compute
    // capability, and what Backend::load throws.
    void load(Device const& device);
    // Starts it with `kernel`, for clients of this process or of `others`. It must be loaded on the
    // device.
    [[nodiscard]] RunningKernel start(Device const& device, KernelOptions const& options,
                                      TextKernel const& kernel, bool others);

    BytesType const request;
    BytesType const reply;
    int const compute_capability;
    std::string const cubin;
    std::string const log;
    bool const was_cached;
    TextKernelFacts const facts;

   private:
    // nullptr: not yet. Call it with the mutex held.
    [[nodiscard]] std::shared_ptr<LoadedCode> loaded_on(Backend const& backend) const;

    struct Loaded {
        std::shared_ptr<Backend> backend;
        std::shared_ptr<LoadedCode> code;
    };

    mutable std::mutex mutex_;
    std::vector<Loaded> loaded_;  // one for each device that has loaded it
};

}  // namespace carillon::detail
