// SPDX-License-Identifier: Apache-2.0
#include "carillon/copy.hpp"
#include "handles.hpp"

namespace carillon::c {
namespace {

Memory allocate(Device const& device, std::uint64_t bytes, carillon_memory_kind kind) {
    switch (kind) {
        case CARILLON_MEMORY_DEVICE:
            return device.allocate(bytes);
        case CARILLON_MEMORY_HOST:
            return device.allocate_host(bytes);
        case CARILLON_MEMORY_SHARED_HOST:
            return device.allocate_shared_host(bytes);
    }
    throw UsageError("carillon_memory_allocate",
                     fmt::format("there is no kind {}", static_cast<int>(kind)));
}

carillon_device_info info_of(Device const& device) {
    DeviceInfo const& facts = device.info();
    carillon_device_info info{};
    info.emulated = facts.emulated ? 1 : 0;
    info.coherent = facts.coherent ? 1 : 0;
    info.atom_size = facts.atom_size;
    copy_name(info.name, facts.name);
    copy_name(info.selector, facts.selector);
    copy_name(info.uuid, facts.uuid);
    copy_name(info.memory_source, to_string(facts.memory_source));
    return info;
}

Memory const& memory_of(std::string_view call, carillon_memory const* memory) {
    return checked(call, memory, "memory").memory;
}

}  // namespace
}  // namespace carillon::c

namespace c = carillon::c;

extern "C" {

carillon_status carillon_device_open(char const* selector, carillon_device** device) {
    return c::open("carillon_device_open", device,
                   [&] { return carillon::Device::open(selector == nullptr ? "best" : selector); });
}
void carillon_device_close(carillon_device** device) { c::close(device); }
carillon_status carillon_device_get_info(carillon_device const* device,
                                         carillon_device_info* info) {
    return c::guarded("carillon_device_get_info", [&](std::string_view call) {
        c::tell(call, c::info_of(c::checked(call, device, "device").device), info);
    });
}

carillon_status carillon_memory_allocate(carillon_device const* device, uint64_t bytes,
                                         carillon_memory_kind kind, carillon_memory** memory) {
    constexpr char const* call = "carillon_memory_allocate";
    return c::open(call, memory, [&] {
        return c::allocate(c::checked(call, device, "device").device, bytes, kind);
    });
}
void carillon_memory_free(carillon_memory** memory) { c::close(memory); }
carillon_status carillon_memory_get_info(carillon_memory const* memory,
                                         carillon_memory_info* info) {
    return c::guarded("carillon_memory_get_info", [&](std::string_view call) {
        carillon::Memory const& of = c::memory_of(call, memory);
        c::tell(call,
                carillon_memory_info{0, of.host_ptr(), of.device_ptr(), of.size(), of.atom_size(),
                                     of.coherent() ? 1 : 0},
                info);
    });
}
carillon_status carillon_memory_write(carillon_memory const* memory, uint64_t offset,
                                      void const* from, uint64_t bytes) {
    return c::guarded("carillon_memory_write", [&](std::string_view call) {
        carillon::copy_to_device(c::memory_of(call, memory), offset,
                                 c::bytes_at(call, from, bytes));
    });
}
carillon_status carillon_memory_read(carillon_memory const* memory, uint64_t offset, void* to,
                                     uint64_t bytes) {
    return c::guarded("carillon_memory_read", [&](std::string_view call) {
        carillon::copy_from_device(c::room_at(call, to, bytes), c::memory_of(call, memory), offset);
    });
}
carillon_status carillon_memory_flush(carillon_memory const* memory, uint64_t offset,
                                      uint64_t bytes) {
    return c::guarded("carillon_memory_flush", [&](std::string_view call) {
        c::memory_of(call, memory).flush(offset, bytes);
    });
}
carillon_status carillon_memory_invalidate(carillon_memory const* memory, uint64_t offset,
                                           uint64_t bytes) {
    return c::guarded("carillon_memory_invalidate", [&](std::string_view call) {
        c::memory_of(call, memory).invalidate(offset, bytes);
    });
}
carillon_status carillon_memory_export_fd(carillon_memory const* memory, int* descriptor) {
    return c::guarded("carillon_memory_export_fd", [&](std::string_view call) {
        c::checked(call, descriptor, "room for the descriptor") = -1;
        *descriptor = c::memory_of(call, memory).export_fd().release();
    });
}

}  // extern "C"
