// SPDX-License-Identifier: Apache-2.0
// The operations of an open device; devices/devices.cpp opens it.
#include "carillon/device.hpp"

#include <fmt/format.h>

#include <array>

#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"
#include "carillon/wait.hpp"
#include "device/backend.hpp"
#include "error/sizes.hpp"

namespace carillon {
namespace {

// Runs `body`, which allocates.
template <class Body>
auto allocating(char const* call, std::size_t size, detail::Backend& backend, Body&& body) {
    return detail::in_call(call, [&] {
        if (size == 0) throw UsageError("0 bytes requested");
        detail::require_addressable(size);
        backend.mark().require_own();
        backend.residents().look_after_orphans();
        backend.residents().free_retired();  // this allocation may need it
        return body();
    });
}

}  // namespace

DeviceInfo const& Device::info() const { return backend_->info(); }
DeviceTraits const& Device::traits() const { return backend_->traits(); }
StackUse Device::stack() const {
    return detail::in_call("Device::stack", backend_->mark(), [&] { return backend_->stack(); });
}

bool Device::oversubscribed(unsigned blocks) const {
    return traits().shares_processors && HostWait::oversubscribed(blocks);
}

Memory Device::allocate(std::size_t size) const {
    return allocating("Device::allocate", size, *backend_, [&] {
        Memory memory(backend_, backend_->allocate(size));
        if (memory.coherent()) {
            memory.allocation_->listed.emplace(memory.device_ptr(), memory.host_ptr(), size,
                                               traits().write_combining);
        }
        return memory;
    });
}

Memory Device::map(void* device_address, std::size_t size) const {
    return detail::in_call("Device::map", [&] {
        if (device_address == nullptr) throw UsageError("the device address is null");
        if (size == 0) throw UsageError("0 bytes requested");
        detail::require_addressable(size);
        backend_->mark().require_own();
        return Memory(backend_, backend_->map(device_address, size));
    });
}

Memory Device::allocate_host(std::size_t size) const {
    return allocating("Device::allocate_host", size, *backend_,
                      [&] { return Memory(backend_, backend_->allocate_host(size)); });
}

Memory Device::allocate_shared_host(std::size_t size) const {
    return allocating("Device::allocate_shared_host", size, *backend_,
                      [&] { return Memory(backend_, backend_->allocate_shared_host(size)); });
}

Memory Device::register_host(std::span<std::byte> bytes, std::shared_ptr<void const> owner) const {
    return allocating("Device::register_host", bytes.size(), *backend_, [&] {
        detail::require_bytes_there(bytes);
        detail::require_machine_memory(bytes.size());
        return Memory(backend_, backend_->register_host(bytes, std::move(owner)));
    });
}

detail::HostStores Device::stores() const { return backend_->stores(); }
void Device::set_stores(detail::HostStores stores) const {
    detail::in_call("Device::set_stores", [&] { backend_->set_stores(stores); });
}

bool Device::owns(Memory const& memory) const {
    return memory.backend_ != nullptr && &memory.backend_->residents() == &backend_->residents();
}

detail::HostMapped Device::access(Memory const& memory, detail::HostStores stores) const {
    return detail::in_call("Device::access", [&] {
        if (memory.size() == 0)
            throw UsageError("the memory is empty: it was moved from or never allocated");
        if (!owns(memory)) throw UsageError("the memory belongs to another device");
        detail::require_supported(stores);
        bool const read_back = info().data_order == DataOrder::read_back;
        return detail::HostMapped(
            stores, memory.range_sync(),
            read_back ? static_cast<std::uint64_t const*>(memory.host_ptr()) : nullptr);
    });
}

std::string_view to_string(DataOrder order) {
    return order == DataOrder::fence ? "fence" : "read-back";
}

std::string_view to_string(MemorySource source) {
    static constexpr std::array<std::string_view, 6> names{"",        "vulkan", "dma-buf",
                                                           "gdrcopy", "host",   "memfd"};
    return names.at(static_cast<std::size_t>(source));
}

}  // namespace carillon

namespace carillon::detail {

void require_supported(HostStores stores) {
    if (supported(stores.kind)) return;
    throw UnsupportedError(fmt::format("this CPU lacks {} stores", to_string(stores.kind)));
}

std::unique_ptr<Allocation> Backend::import(FileDescriptor /*fd*/, std::size_t /*size*/) {
    throw UnsupportedError(info_.name + " cannot map another process's memory");
}

std::unique_ptr<Allocation> Backend::map(void* /*device_address*/, std::size_t /*size*/) {
    throw UnsupportedError(info_.name + " maps only memory from Device::allocate");
}

std::shared_ptr<LoadedCode> Backend::load(std::span<std::byte const> /*image*/) {
    throw UnsupportedError(info_.name + " cannot run GPU machine code");
}

void Backend::set_own_stores() {
    // Memory mapped like the CPU's own needs no measures against write-combining.
    set_stores(traits_.write_combining ? best_mapped_stores() : HostStores{});
}

void Backend::set_stores(HostStores stores) {
    require_supported(stores);
    stores_ = stores;
    info_.store_instruction = to_string(stores.kind);
    info_.publish_mode = to_string(stores.mode);
}

}  // namespace carillon::detail
