// SPDX-License-Identifier: Apache-2.0
// The interface of a device. To add one: implement Backend, say its traits, and name it in the
// table of devices/devices.cpp.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/process_mark.hpp"
#include "carillon/detail/kernel/program.hpp"
#include "carillon/device_info.hpp"
#include "carillon/device_traits.hpp"
#include "device/allocation.hpp"
#include "device/residents.hpp"

namespace carillon::detail {

// Throws UnsupportedError if this CPU lacks the instruction.
void require_supported(HostStores stores);

class Backend : public std::enable_shared_from_this<Backend> {
   public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate(std::size_t size) = 0;
    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate_host(std::size_t size) = 0;
    // Its export_fd() gives a SharedMemory's descriptor.
    [[nodiscard]] virtual std::unique_ptr<Allocation> allocate_shared_host(std::size_t size) = 0;
    // Keeps `owner` until the bytes are unregistered. Throws UsageError if some of them are
    // registered already.
    [[nodiscard]] virtual std::unique_ptr<Allocation> register_host(
        std::span<std::byte> bytes, std::shared_ptr<void const> owner) = 0;
    // Maps CUDA memory that the program allocated itself. Throws UnsupportedError if that is
    // impossible, UsageError, CudaError.
    [[nodiscard]] virtual std::unique_ptr<Allocation> map(void* device_address, std::size_t size);
    // Maps memory of this device that another process exported by Allocation::export_fd(), where it
    // has `size` bytes. Throws UnsupportedError if that is impossible, UsageError, CudaError,
    // VulkanError.
    [[nodiscard]] virtual std::unique_ptr<Allocation> import(FileDescriptor fd, std::size_t size);
    // Loads machine code. Throws UnsupportedError if the device loads none; UsageError while a
    // kernel lives here, CudaError.
    [[nodiscard]] virtual std::shared_ptr<LoadedCode> load(std::span<std::byte const> image);
    // Starts `blocks` blocks of the program. Throws ResidencyError if they do not fit beside the
    // kernels that are running.
    [[nodiscard]] virtual std::unique_ptr<Execution> start(Program const& program,
                                                           unsigned blocks) = 0;

    [[nodiscard]] virtual StackUse stack() { return {}; }

    [[nodiscard]] DeviceInfo const& info() const { return info_; }
    [[nodiscard]] DeviceTraits const& traits() const { return traits_; }
    [[nodiscard]] HostStores stores() const { return stores_; }
    void set_stores(HostStores stores);
    void set_data_order(DataOrder order) { info_.data_order = order; }
    void set_selector(std::string_view selector) { info_.selector = selector; }
    void explain_emulated(std::string why) { info_.why_emulated = std::move(why); }

    [[nodiscard]] Residents& residents() { return *residents_; }
    [[nodiscard]] ProcessMark const& mark() const { return mark_; }

   protected:
    Backend(std::shared_ptr<Residents> residents, DeviceTraits const& traits)
        : traits_(traits), residents_(std::move(residents)) {}

    // Chooses the traits' stores: call it at the end of a backend's constructor.
    void set_own_stores();

    DeviceInfo info_;
    DeviceTraits traits_;

   private:
    HostStores stores_;
    ProcessMark mark_;
    std::shared_ptr<Residents> residents_;
};

// Throws OutOfMemoryError if `size` bytes exceed the heap of Device::allocate, its budget or the
// BAR.
void require_budget(DeviceInfo const& info, std::size_t size);

}  // namespace carillon::detail
