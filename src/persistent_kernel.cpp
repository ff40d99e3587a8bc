// SPDX-License-Identifier: Apache-2.0
#include "carillon/persistent_kernel.hpp"

#include <fmt/format.h>

#include <limits>

#include "carillon/core/flag.hpp"

namespace carillon::detail {

unsigned channels_of(PersistentKernelOptions const& options) {
    if (options.channels_per_block == 0 || options.channels_per_block > bells_per_block) {
        throw UsageError("PersistentKernel",
                         fmt::format("{} channels a block: there can be 1 to {}",
                                     options.channels_per_block, bells_per_block));
    }
    if (options.blocks > std::numeric_limits<unsigned>::max() / options.channels_per_block) {
        throw UsageError("PersistentKernel", fmt::format("{} blocks are too many", options.blocks));
    }
    return options.blocks * options.channels_per_block;
}

KernelHost::KernelHost(Device device, std::shared_ptr<ChannelMemory> memory, RunningKernel running,
                       PersistentKernelOptions const& options, std::string owner)
    : device_(std::move(device)),
      memory_(std::move(memory)),
      options_(options),
      owner_(std::move(owner)),
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
            StatusLine const* status = leading_channel(i).status;
            if (!FlagReader<bool, HostCached>(&status->started).get()) return false;
        }
        return true;
    };
    auto const check_fault = [&] { (void)running_.finished(); };
    if (!wait.until(all_started, options_.start_timeout, check_fault)) {
        ask_to_stop();
        throw TimeoutError(owner_,
                           "not every block had started within start_timeout: another kernel "
                           "holds the device");
    }
}

ChannelView KernelHost::leading_channel(unsigned block) const {
    return memory_->on_host().channel(block * options_.channels_per_block);
}

void KernelHost::ask_to_stop() {
    stopped_ = true;
    HostMapped const far = device_.access(memory_->device_memory());
    for (unsigned i = 0; i < options_.blocks; ++i) {
        std::uint64_t* const stop = &leading_channel(i).control->stop;
        FlagWriter<bool, HostMapped>(stop, far).set(true);
    }
}

void KernelHost::stop(std::chrono::nanoseconds timeout) {
    ask_to_stop();
    if (!running_.wait(timeout)) {
        throw TimeoutError(owner_ + "::stop",
                           fmt::format("the kernel has not ended within {} ns; a handler may not "
                                       "have returned",
                                       timeout.count()));
    }
}

bool KernelHost::running() const { return !running_.finished(); }

unsigned KernelHost::multiprocessor(unsigned block) const {
    StatusLine const* status = leading_channel(block).status;
    return static_cast<unsigned>(HostCached().load_word(&status->multiprocessor));
}

unsigned KernelHost::place_of_bells(unsigned block) const {
    return static_cast<unsigned>(HostCached().load_word(&leading_channel(block).status->bells));
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
