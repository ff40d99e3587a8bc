// SPDX-License-Identifier: Apache-2.0
// What a device does once it is open; devices/devices.cpp opens it.
#include "carillon/device.hpp"

#include <fmt/format.h>

#include "carillon/error.hpp"
#include "carillon/wait.hpp"
#include "device/backend.hpp"
#include "error/range.hpp"
#include "error/sizes.hpp"

namespace carillon {
namespace {

constexpr std::string_view register_call = "Device::register_host";

void prepare_to_allocate(std::string_view call, std::size_t size, detail::Backend& backend) {
    if (size == 0) throw UsageError(call, "a memory of 0 bytes was asked for");
    detail::require_addressable(call, size);
    backend.mark().require_own(call);
    backend.residents().look_after_orphans();
    backend.residents().free_retired();  // this may need it
}

}  // namespace

DeviceInfo const& Device::info() const { return backend_->info(); }
DeviceTraits const& Device::traits() const { return backend_->traits(); }
StackUse Device::stack() const {
    backend_->mark().require_own("Device::stack");
    return backend_->stack();
}

bool Device::oversubscribed(unsigned blocks) const {
    return traits().shares_processors && HostWait::oversubscribed(blocks);
}

Memory Device::allocate(std::size_t size) const {
    prepare_to_allocate("Device::allocate", size, *backend_);
    Memory memory(backend_, backend_->allocate(size));
    if (memory.coherent()) {
        memory.allocation_->listed.emplace(memory.device_ptr(), memory.host_ptr(), size,
                                           traits().write_combining);
    }
    return memory;
}

Memory Device::map(void* device_address, std::size_t size) const {
    constexpr char const* call = "Device::map";
    if (device_address == nullptr || size == 0) {
        throw UsageError(call, fmt::format("{} bytes at {}", size, device_address));
    }
    detail::require_addressable(call, size);
    backend_->mark().require_own(call);
    return {backend_, backend_->map(device_address, size)};
}

Memory Device::allocate_host(std::size_t size) const {
    prepare_to_allocate("Device::allocate_host", size, *backend_);
    return {backend_, backend_->allocate_host(size)};
}

Memory Device::allocate_shared_host(std::size_t size) const {
    prepare_to_allocate("Device::allocate_shared_host", size, *backend_);
    return {backend_, backend_->allocate_shared_host(size)};
}

Memory Device::register_host(std::span<std::byte> bytes, std::shared_ptr<void const> owner) const {
    prepare_to_allocate(register_call, bytes.size(), *backend_);
    detail::require_bytes_there(register_call, bytes);
    detail::require_machine_memory(register_call, bytes.size());
    return {backend_, backend_->register_host(bytes, std::move(owner))};
}

detail::HostStores Device::stores() const { return backend_->stores(); }
void Device::set_stores(detail::HostStores stores) const { backend_->set_stores(stores); }

bool Device::owns(Memory const& memory) const {
    return memory.backend_ != nullptr && &memory.backend_->residents() == &backend_->residents();
}

detail::HostMapped Device::access(Memory const& memory, detail::HostStores stores) const {
    constexpr char const* call = "Device::access";
    if (memory.size() == 0)
        throw UsageError(call, "there is no memory: it was moved from, or never allocated");
    if (!owns(memory)) throw UsageError(call, "the memory is another device's");
    detail::require_supported(call, stores);
    bool const read_back = info().data_order == DataOrder::read_back;
    return detail::HostMapped(
        stores, memory.range_sync(),
        read_back ? static_cast<std::uint64_t const*>(memory.host_ptr()) : nullptr);
}

}  // namespace carillon
