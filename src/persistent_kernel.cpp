// SPDX-License-Identifier: Apache-2.0
#include "carillon/persistent_kernel.hpp"

#include <fmt/format.h>

#include "carillon/core/flag.hpp"

namespace carillon::detail {

KernelHost::KernelHost(Device device, std::shared_ptr<ChannelMemory> memory, RunningKernel running,
                       PersistentKernelOptions const& options)
    : device_(std::move(device)),
      memory_(std::move(memory)),
      options_(options),
      running_(std::move(running)) {}

KernelHost::~KernelHost() {
    try {
        stop(options_.stop_timeout);
    } catch (std::exception const&) {  // RunningKernel tells who is left behind
    }
}

void KernelHost::await_start() {
    HostWait const wait(HostWait::Style::yield);
    auto const all_started = [&] {
        for (unsigned i = 0; i < options_.blocks; ++i) {
            StatusLine const* status = memory_->on_host().channel(i).status;
            if (!FlagReader<bool, HostCached>(&status->started).get()) return false;
        }
        return true;
    };
    auto const check_fault = [&] { (void)running_.finished(); };
    if (!wait.until(all_started, options_.start_timeout, check_fault)) {
        ask_to_stop();
        throw TimeoutError("PersistentKernel",
                           "not every block had started within start_timeout: another kernel "
                           "holds the device");
    }
}

void KernelHost::ask_to_stop() {
    stopped_ = true;
    HostMapped const far = device_.access(memory_->device_memory());
    for (unsigned i = 0; i < options_.blocks; ++i) {
        std::uint64_t* const stop = &memory_->on_host().channel(i).control->stop;
        FlagWriter<bool, HostMapped>(stop, far).set(true);
    }
}

void KernelHost::stop(std::chrono::nanoseconds timeout) {
    ask_to_stop();
    if (!running_.wait(timeout)) {
        throw TimeoutError("PersistentKernel::stop",
                           fmt::format("the kernel has not ended within {} ns; a handler may not "
                                       "have returned",
                                       timeout.count()));
    }
}

bool KernelHost::running() const { return !running_.finished(); }

unsigned KernelHost::multiprocessor(unsigned block) const {
    StatusLine const* status = memory_->on_host().channel(block).status;
    return static_cast<unsigned>(HostCached().load_word(&status->multiprocessor));
}

void KernelHost::require_open(std::string_view call) const {
    if (stopped_.load(std::memory_order_relaxed)) {
        throw StoppedError(call, "the kernel was stopped");
    }
}

void KernelHost::require_alive(std::string_view call) {
    require_open(call);
    if (running_.finished()) throw StoppedError(call, "the kernel has ended");
}

}  // namespace carillon::detail
