// SPDX-License-Identifier: Apache-2.0
// vkgdr's calls over Device and Memory, with vkgdr's texts.
#include "carillon/compat/vkgdr.h"

#include <fmt/format.h>

#include <cctype>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "carillon/device.hpp"
#include "carillon/error.hpp"
#include "carillon/memory.hpp"
#include "vkgdr_device.hpp"

struct vkgdr {
    carillon::compat::VkgdrDevice device;
};
struct vkgdr_memory {
    carillon::Memory memory;
};

namespace carillon::compat {
namespace {

thread_local std::optional<std::string> last_vkgdr_error;

// A VkResult as C calls it: vk::to_string() says "ErrorDeviceLost" of VK_ERROR_DEVICE_LOST.
std::string vk_name(std::string_view name) {
    std::string text = "VK";
    char before = 'a';
    for (char const c : name) {
        bool const upper = c >= 'A' && c <= 'Z';
        if (upper && before >= 'a' && before <= 'z') text += '_';
        text += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        before = c;
    }
    return text;
}

// Returns what `make` returns, or nullptr, and keeps its error in vkgdr's words.
template <class Make>
auto kept(Make&& make) noexcept -> decltype(make()) {
    last_vkgdr_error.reset();
    try {
        return make();
    } catch (VulkanError const& error) {
        last_vkgdr_error = fmt::format("{} failed ({})", error.call(), vk_name(error.code_name()));
    } catch (CodedError const& error) {
        last_vkgdr_error = fmt::format("{} failed ({})", error.call(), error.code_name());
    } catch (DeviceNotFoundError const& error) {
        last_vkgdr_error = error.cause();
    } catch (OutOfMemoryError const&) {
        last_vkgdr_error = "vkAllocateMemory failed (VK_ERROR_OUT_OF_DEVICE_MEMORY)";
    } catch (std::exception const& error) {
        last_vkgdr_error = error.what();
    }
    return nullptr;
}

vkgdr* open_device(CUdevice device, std::uint32_t flags) {
    DeviceOptions options;
    options.force_non_coherent = (flags & VKGDR_OPEN_FORCE_NON_COHERENT_BIT) != 0;
    options.require_coherent = (flags & VKGDR_OPEN_REQUIRE_COHERENT_BIT) != 0;
    bool const of_context = (flags & VKGDR_OPEN_CURRENT_CONTEXT_BIT) != 0;
    return new vkgdr{of_context ? VkgdrDevice::of_current_context(options)
                                : VkgdrDevice(device, options)};
}

vkgdr_memory* allocate_vkgdr(vkgdr const* g, std::size_t size) {
    if (g == nullptr) throw UsageError("vkgdr_memory_alloc", "the handle is a null pointer");
    return new vkgdr_memory{g->device.in_current_context().allocate(size)};
}

}  // namespace
}  // namespace carillon::compat

namespace c = carillon::compat;

extern "C" {

char* vkgdr_last_error() {
    return c::last_vkgdr_error ? ::strdup(c::last_vkgdr_error->c_str()) : nullptr;
}

vkgdr_t vkgdr_open(CUdevice device, uint32_t flags) {
    return c::kept([&] { return c::open_device(device, flags); });
}
void vkgdr_close(vkgdr_t g) { delete g; }

vkgdr_memory_t vkgdr_memory_alloc(vkgdr_t g, size_t size, uint32_t /*flags*/) {
    return c::kept([&] { return c::allocate_vkgdr(g, size); });
}
void vkgdr_memory_free(vkgdr_memory_t mem) { delete mem; }

// NULL, too, in a child of fork(), where the memory is not mapped.
void* vkgdr_memory_get_host_ptr(vkgdr_memory_t mem) {
    try {
        return mem == nullptr ? nullptr : mem->memory.host_ptr();
    } catch (carillon::ForkError const&) {
        return nullptr;
    }
}
CUdeviceptr vkgdr_memory_get_device_ptr(vkgdr_memory_t mem) {
    return mem == nullptr ? 0 : reinterpret_cast<CUdeviceptr>(mem->memory.device_ptr());
}
size_t vkgdr_memory_get_size(vkgdr_memory_t mem) { return mem == nullptr ? 0 : mem->memory.size(); }
bool vkgdr_memory_is_coherent(vkgdr_memory_t mem) {
    return mem == nullptr || mem->memory.coherent();
}
size_t vkgdr_memory_non_coherent_atom_size(vkgdr_memory_t mem) {
    return vkgdr_memory_is_coherent(mem) ? 1 : mem->memory.atom_size();
}

// vkgdr's has no way to say that it failed, and neither has this one.
void vkgdr_memory_flush(vkgdr_memory_t mem, size_t offset, size_t size) {
    try {
        if (mem != nullptr) mem->memory.flush(offset, size);
    } catch (carillon::Error const&) {
    }
}
void vkgdr_memory_invalidate(vkgdr_memory_t mem, size_t offset, size_t size) {
    try {
        if (mem != nullptr) mem->memory.invalidate(offset, size);
    } catch (carillon::Error const&) {
    }
}

}  // extern "C"
