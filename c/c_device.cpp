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
    throw UsageError(fmt::format(
        "there is no kind of memory {}: use CARILLON_MEMORY_DEVICE, _HOST or _SHARED_HOST",
        static_cast<int>(kind)));
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

Memory const& memory_of(carillon_memory const* memory) { return checked(memory, "memory").memory; }

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
    return c::guarded("carillon_device_get_info",
                      [&] { c::tell(c::info_of(c::checked(device, "device").device), info); });
}

carillon_status carillon_memory_allocate(carillon_device const* device, uint64_t bytes,
                                         carillon_memory_kind kind, carillon_memory** memory) {
    return c::open("carillon_memory_allocate", memory,
                   [&] { return c::allocate(c::checked(device, "device").device, bytes, kind); });
}
void carillon_memory_free(carillon_memory** memory) { c::close(memory); }
carillon_status carillon_memory_get_info(carillon_memory const* memory,
                                         carillon_memory_info* info) {
    return c::guarded("carillon_memory_get_info", [&] {
        carillon::Memory const& of = c::memory_of(memory);
        c::tell(carillon_memory_info{0, of.host_ptr(), of.device_ptr(), of.size(), of.atom_size(),
                                     of.coherent() ? 1 : 0},
                info);
    });
}
carillon_status carillon_memory_write(carillon_memory const* memory, uint64_t offset,
                                      void const* from, uint64_t bytes) {
    return c::guarded("carillon_memory_write", [&] {
        carillon::copy_to_device(c::memory_of(memory), offset, c::bytes_at(from, bytes));
    });
}
carillon_status carillon_memory_read(carillon_memory const* memory, uint64_t offset, void* to,
                                     uint64_t bytes) {
    return c::guarded("carillon_memory_read", [&] {
        carillon::copy_from_device(c::room_at(to, bytes), c::memory_of(memory), offset);
    });
}
carillon_status carillon_memory_flush(carillon_memory const* memory, uint64_t offset,
                                      uint64_t bytes) {
    return c::guarded("carillon_memory_flush", [&] { c::memory_of(memory).flush(offset, bytes); });
}
carillon_status carillon_memory_invalidate(carillon_memory const* memory, uint64_t offset,
                                           uint64_t bytes) {
    return c::guarded("carillon_memory_invalidate",
                      [&] { c::memory_of(memory).invalidate(offset, bytes); });
}
carillon_status carillon_memory_export_fd(carillon_memory const* memory, int* descriptor) {
    return c::guarded("carillon_memory_export_fd", [&] {
        c::checked(descriptor, "output for the descriptor") = -1;
        *descriptor = c::memory_of(memory).export_fd().release();
    });
}

}  // extern "C"
