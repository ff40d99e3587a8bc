// SPDX-License-Identifier: Apache-2.0
#include "device/backend.hpp"

#include <fmt/format.h>

#include <array>

#include "carillon/error.hpp"

namespace carillon::detail {

void require_supported(HostStores stores) {
    if (supported(stores.kind)) return;
    throw UnsupportedError(fmt::format("this CPU has no {} stores", to_string(stores.kind)));
}

std::unique_ptr<Allocation> Backend::import(FileDescriptor /*fd*/, std::size_t /*size*/) {
    throw UnsupportedError(info_.name + " has no way to another process's memory");
}

std::unique_ptr<Allocation> Backend::map(void* /*device_address*/, std::size_t /*size*/) {
    throw UnsupportedError(info_.name + " has no memory but what Device::allocate gives");
}

std::shared_ptr<LoadedCode> Backend::load(std::span<std::byte const> /*image*/) {
    throw UnsupportedError(info_.name + " runs no machine code of a GPU's");
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

namespace carillon {

std::string_view to_string(DataOrder order) {
    return order == DataOrder::fence ? "fence" : "read-back";
}

std::string_view to_string(MemorySource source) {
    static constexpr std::array<std::string_view, 6> names{"",        "vulkan", "dma-buf",
                                                           "gdrcopy", "host",   "memfd"};
    return names.at(static_cast<std::size_t>(source));
}

}  // namespace carillon
