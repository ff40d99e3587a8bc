// SPDX-License-Identifier: Apache-2.0
// Stands for the Vulkan loader and a driver: memory of this process, and every entry point that can
// fail does when it is due.
#include "edges/failures/vulkan_stand_in.hpp"

#define VK_NO_PROTOTYPES
#include <sys/mman.h>
#include <unistd.h>
#include <vulkan/vulkan.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "edges/failures/fault_points.hpp"
#include "edges/failures/stand_in_uuid.hpp"

struct VkDeviceMemory_T {
    int fd = -1;
    std::size_t size = 0;
    void* mapped = nullptr;
};

namespace carillon::test {
namespace {

constexpr VkDeviceSize heap_size = VkDeviceSize{1} << 30U;

template <class Handle>
Handle some_handle() {
    static char object;
    return reinterpret_cast<Handle>(&object);
}

VkResult failure_of(char const* call) {
    if (!is_due(FaultKind::vulkan, call)) return VK_SUCCESS;
    return fails_for_want_of_memory() ? VK_ERROR_OUT_OF_DEVICE_MEMORY : VK_ERROR_UNKNOWN;
}

#define CARILLON_FAIL_IF_DUE(call) \
    if (VkResult const failure = failure_of(#call); failure != VK_SUCCESS) return failure

VkResult create_instance(VkInstanceCreateInfo const*, VkAllocationCallbacks const*,
                         VkInstance* instance) {
    CARILLON_FAIL_IF_DUE(vkCreateInstance);
    *instance = some_handle<VkInstance>();
    return VK_SUCCESS;
}
void destroy_instance(VkInstance, VkAllocationCallbacks const*) {}

VkResult enumerate_devices(VkInstance, std::uint32_t* count, VkPhysicalDevice* devices) {
    CARILLON_FAIL_IF_DUE(vkEnumeratePhysicalDevices);
    *count = 1;
    if (devices != nullptr) devices[0] = some_handle<VkPhysicalDevice>();
    return VK_SUCCESS;
}

void get_properties(VkPhysicalDevice, VkPhysicalDeviceProperties* properties) {
    *properties = {};
    properties->apiVersion = VK_API_VERSION_1_1;
    properties->deviceType = VK_PHYSICAL_DEVICE_TYPE_CPU;
    properties->limits.nonCoherentAtomSize = 64;
}

void get_properties_2(VkPhysicalDevice device, VkPhysicalDeviceProperties2* properties) {
    get_properties(device, &properties->properties);
    for (auto* each = static_cast<VkBaseOutStructure*>(properties->pNext); each != nullptr;
         each = each->pNext) {
        if (each->sType != VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES) continue;
        std::memcpy(reinterpret_cast<VkPhysicalDeviceIDProperties*>(each)->deviceUUID,
                    stand_in_uuid, VK_UUID_SIZE);
    }
}

VkResult enumerate_extensions(VkPhysicalDevice, char const*, std::uint32_t* count,
                              VkExtensionProperties* extensions) {
    CARILLON_FAIL_IF_DUE(vkEnumerateDeviceExtensionProperties);
    *count = 1;
    if (extensions != nullptr) {
        extensions[0] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME, 1};
    }
    return VK_SUCCESS;
}

void get_queue_families(VkPhysicalDevice, std::uint32_t* count, VkQueueFamilyProperties* families) {
    *count = 1;
    if (families != nullptr) {
        families[0] = {};
        families[0].queueCount = 1;
    }
}

void get_memory(VkPhysicalDevice, VkPhysicalDeviceMemoryProperties* memory) {
    *memory = {};
    memory->memoryTypeCount = 1;
    memory->memoryTypes[0] = {VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT |
                                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT |
                                  VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                              0};
    memory->memoryHeapCount = 1;
    memory->memoryHeaps[0] = {heap_size, VK_MEMORY_HEAP_DEVICE_LOCAL_BIT};
}

VkResult create_device(VkPhysicalDevice, VkDeviceCreateInfo const*, VkAllocationCallbacks const*,
                       VkDevice* device) {
    CARILLON_FAIL_IF_DUE(vkCreateDevice);
    *device = some_handle<VkDevice>();
    return VK_SUCCESS;
}
void destroy_device(VkDevice, VkAllocationCallbacks const*) {}

int new_file(std::size_t size) {
    int const fd = ::memfd_create("carillon stand-in", MFD_CLOEXEC);
    if (fd < 0 || ::ftruncate(fd, static_cast<off_t>(size)) != 0) std::abort();
    return fd;
}

VkResult allocate_memory(VkDevice, VkMemoryAllocateInfo const* info, VkAllocationCallbacks const*,
                         VkDeviceMemory* memory) {
    CARILLON_FAIL_IF_DUE(vkAllocateMemory);
    InStandIn const here;
    int fd = -1;
    for (auto* each = static_cast<VkBaseInStructure const*>(info->pNext); each != nullptr;
         each = each->pNext) {
        if (each->sType == VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR) {
            fd = reinterpret_cast<VkImportMemoryFdInfoKHR const*>(each)->fd;
        }
    }
    std::size_t const size = info->allocationSize;
    *memory = new VkDeviceMemory_T{fd >= 0 ? fd : new_file(size), size};
    return VK_SUCCESS;
}

void unmap_memory(VkDevice, VkDeviceMemory memory) {
    if (memory->mapped != nullptr) ::munmap(memory->mapped, memory->size);
    memory->mapped = nullptr;
}

void free_memory(VkDevice device, VkDeviceMemory memory, VkAllocationCallbacks const*) {
    if (memory == VK_NULL_HANDLE) return;
    unmap_memory(device, memory);
    ::close(memory->fd);
    delete memory;
}

VkResult map_memory(VkDevice, VkDeviceMemory memory, VkDeviceSize, VkDeviceSize, VkMemoryMapFlags,
                    void** where) {
    CARILLON_FAIL_IF_DUE(vkMapMemory);
    InStandIn const here;
    *where = ::mmap(nullptr, memory->size, PROT_READ | PROT_WRITE, MAP_SHARED, memory->fd, 0);
    if (*where == MAP_FAILED) std::abort();
    memory->mapped = *where;
    return VK_SUCCESS;
}

VkResult get_memory_fd(VkDevice, VkMemoryGetFdInfoKHR const* info, int* fd) {
    CARILLON_FAIL_IF_DUE(vkGetMemoryFdKHR);
    *fd = ::dup(info->memory->fd);
    return VK_SUCCESS;
}

VkResult flush(VkDevice, std::uint32_t, VkMappedMemoryRange const*) {
    return failure_of("vkFlushMappedMemoryRanges");
}
VkResult invalidate(VkDevice, std::uint32_t, VkMappedMemoryRange const*) {
    return failure_of("vkInvalidateMappedMemoryRanges");
}

template <class Function>
std::pair<std::string_view, PFN_vkVoidFunction> entry(std::string_view name, Function* function) {
    return {name, reinterpret_cast<PFN_vkVoidFunction>(function)};
}

PFN_vkVoidFunction get_device_function(VkDevice, char const* name);
PFN_vkVoidFunction get_function(VkInstance, char const* name) {
    static std::array const all{
        entry("vkGetInstanceProcAddr", &get_function),
        entry("vkGetDeviceProcAddr", &get_device_function),
        entry("vkCreateInstance", &create_instance),
        entry("vkDestroyInstance", &destroy_instance),
        entry("vkEnumeratePhysicalDevices", &enumerate_devices),
        entry("vkGetPhysicalDeviceProperties", &get_properties),
        entry("vkGetPhysicalDeviceProperties2", &get_properties_2),
        entry("vkEnumerateDeviceExtensionProperties", &enumerate_extensions),
        entry("vkGetPhysicalDeviceQueueFamilyProperties", &get_queue_families),
        entry("vkGetPhysicalDeviceMemoryProperties", &get_memory),
        entry("vkCreateDevice", &create_device),
        entry("vkDestroyDevice", &destroy_device),
        entry("vkAllocateMemory", &allocate_memory),
        entry("vkFreeMemory", &free_memory),
        entry("vkMapMemory", &map_memory),
        entry("vkUnmapMemory", &unmap_memory),
        entry("vkGetMemoryFdKHR", &get_memory_fd),
        entry("vkFlushMappedMemoryRanges", &flush),
        entry("vkInvalidateMappedMemoryRanges", &invalidate)};
    for (auto const& [known, function] : all) {
        if (known == name) return function;
    }
    return nullptr;
}

PFN_vkVoidFunction get_device_function(VkDevice, char const* name) {
    return get_function(nullptr, name);
}

void* find(char const* name) { return reinterpret_cast<void*>(get_function(nullptr, name)); }

}  // namespace

void load_vulkan_stand_in() {
    stand_in_for("libvulkan.so", &find);
    stand_in_for("libvulkan.so.1", &find);
}

}  // namespace carillon::test
