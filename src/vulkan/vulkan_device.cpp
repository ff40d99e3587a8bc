// SPDX-License-Identifier: Apache-2.0
#include "vulkan/vulkan_device.hpp"

#define VK_NO_PROTOTYPES
#define VULKAN_HPP_DISPATCH_LOADER_DYNAMIC 1
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <tuple>
#include <utility>
#include <vulkan/vulkan_raii.hpp>

#include "carillon/detail/host/process_mark.hpp"
#include "carillon/error.hpp"
#include "device/unflushed.hpp"
#include "os/exit_hook.hpp"

namespace carillon::detail {
namespace {

using Property = vk::MemoryPropertyFlagBits;

// Runs `call`, and turns an error of vulkan.hpp into a VulkanError that names the call.
template <class Call>
auto vulkan_call(std::string_view name, Call&& call) {
    try {
        return call();
    } catch (vk::SystemError const& error) {
        auto const result = static_cast<vk::Result>(error.code().value());
        throw VulkanError(name, error.code().value(), vk::to_string(result));
    }
}

vk::raii::Context load_vulkan() {
    try {
        return {};
    } catch (std::runtime_error const&) {
        throw UnsupportedError("dlopen(libvulkan.so.1)", "the Vulkan loader is not installed");
    }
}

vk::raii::Instance make_instance(vk::raii::Context const& context) {
    vk::ApplicationInfo const application("carillon", 1, nullptr, 0, VK_API_VERSION_1_1);
    return vulkan_call("vkCreateInstance", [&] {
        vk::InstanceCreateInfo info;
        info.pApplicationInfo = &application;
        try {
            return context.createInstance(info);
        } catch (vk::IncompatibleDriverError const&) {  // the loader's error for "no driver"
            throw UnsupportedError("vkCreateInstance", "no Vulkan driver (ICD) was found");
        }
    });
}

// The loader and an instance, which stay for good: see VulkanDevice::open.
struct VulkanInstance {
    vk::raii::Context context = load_vulkan();
    vk::raii::Instance instance = make_instance(context);

    static VulkanInstance const& get() {
        // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
        static auto const& kept = *new VulkanInstance;
        return kept;
    }
};

Uuid uuid_of(vk::raii::PhysicalDevice const& device) {
    auto const chain =
        device.getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceIDProperties>();
    Uuid uuid;
    std::memcpy(uuid.data(), chain.get<vk::PhysicalDeviceIDProperties>().deviceUUID.data(), 16);
    return uuid;
}

vk::raii::PhysicalDevice choose(vk::raii::Instance const& instance,
                                std::optional<Uuid> const& uuid) {
    using Devices = std::vector<vk::raii::PhysicalDevice>;
    auto devices = vulkan_call("vkEnumeratePhysicalDevices", [&]() -> Devices {
        try {
            return instance.enumeratePhysicalDevices();
        } catch (vk::InitializationFailedError const&) {  // vulkan.hpp's error for "none"
            return {};
        }
    });
    if (devices.empty()) {
        throw UnsupportedError("vkEnumeratePhysicalDevices", "no Vulkan driver (ICD) was found");
    }
    for (auto& device : devices) {
        auto const properties = device.getProperties();
        if (properties.apiVersion < VK_API_VERSION_1_1) continue;
        if (uuid ? uuid_of(device) == *uuid
                 : properties.deviceType == vk::PhysicalDeviceType::eCpu) {
            return std::move(device);
        }
    }
    throw UnsupportedError("vkEnumeratePhysicalDevices",
                           uuid ? "no Vulkan driver (ICD) supports the GPU with this UUID"
                                : "no Vulkan driver (ICD) that runs on the CPU was found");
}

bool has_extension(vk::raii::PhysicalDevice const& device, std::string_view name) {
    auto const all = vulkan_call("vkEnumerateDeviceExtensionProperties",
                                 [&] { return device.enumerateDeviceExtensionProperties(); });
    return std::any_of(all.begin(), all.end(), [&](vk::ExtensionProperties const& extension) {
        return name == extension.extensionName.data();
    });
}

constexpr auto handle_type = vk::ExternalMemoryHandleTypeFlagBits::eOpaqueFd;

// Identifies the file of a descriptor.
std::pair<dev_t, ino_t> file_of(FileDescriptor const& fd) {
    struct stat found {};
    (void)::fstat(fd.get(), &found);
    return {found.st_dev, found.st_ino};
}

class OpenedDevice final : public VulkanDevice, public std::enable_shared_from_this<OpenedDevice> {
   public:
    OpenedDevice(std::optional<Uuid> const& uuid, DeviceOptions const& options)
        : physical_(choose(VulkanInstance::get().instance, uuid)),
          has_budget_(has_extension(physical_, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME)),
          device_(make_device()) {
        choose_memory_type(options);
    }

    void describe(DeviceInfo& info) const override;

    std::unique_ptr<VulkanBlock> allocate(std::size_t size) const override {
        check_heap(size);
        try {
            return make_block(size, {});
        } catch (VulkanError const& error) {
            auto const code = static_cast<vk::Result>(error.code());
            if (code != vk::Result::eErrorOutOfDeviceMemory &&
                code != vk::Result::eErrorOutOfHostMemory) {
                throw;
            }
            throw OutOfMemoryError(fmt::format("{} bytes: {}", size, error.what()));
        }
    }

    std::unique_ptr<VulkanBlock> import(FileDescriptor fd, std::size_t size) const override {
        return make_block(size, std::move(fd));
    }

   private:
    friend class Block;
    std::unique_ptr<VulkanBlock> make_block(std::size_t size, FileDescriptor fd) const;
    vk::raii::Device make_device() const;
    void choose_memory_type(DeviceOptions const& options);
    void check_heap(std::size_t size) const;
    vk::PhysicalDeviceMemoryBudgetPropertiesEXT budget() const;

    vk::raii::PhysicalDevice physical_;
    bool has_budget_;
    vk::raii::Device device_;
    std::uint32_t memory_type_ = 0;
    bool coherent_ = true;
    std::size_t atom_ = 1;
};

// Allocated (`import_fd` empty) or imported, and mapped. The memory is bound to no buffer: an
// NVIDIA driver keeps exportable buffers out of the device-local mappable memory type, but the
// memory itself can be exported.
class Block final : public VulkanBlock {
   public:
    Block(std::shared_ptr<OpenedDevice const> opened, std::size_t bytes, FileDescriptor import_fd)
        : opened_(std::move(opened)), memory_(make_memory(bytes, std::move(import_fd))) {
        host = vulkan_call("vkMapMemory", [&] { return memory_.mapMemory(0, VK_WHOLE_SIZE); });
        size = bytes;
        allocated = whole_atoms(bytes);
        coherent = opened_->coherent_;
        atom_size = opened_->atom_;
    }

    ~Block() override {
        imported.reset();
        memory_.unmapMemory();
    }
    Block& operator=(Block&&) = delete;

    FileDescriptor export_fd() const override {
        FileDescriptor fd(vulkan_call("vkGetMemoryFdKHR", [&] {
            return opened_->device_.getMemoryFdKHR({*memory_, handle_type});
        }));
        fd.close_on_exec();  // Vulkan leaves that to the driver, and lavapipe does not do it
        return fd;
    }

    void flush(void const* where, std::size_t length) const override {
        unflushed_.flush(whole_atoms(where, length), [this](vk::MappedMemoryRange const& range) {
            vulkan_call("vkFlushMappedMemoryRanges",
                        [&] { opened_->device_.flushMappedMemoryRanges(range); });
        });
    }

    void invalidate(void const* where, std::size_t length) const override {
        vulkan_call("vkInvalidateMappedMemoryRanges", [&] {
            opened_->device_.invalidateMappedMemoryRanges(whole_atoms(where, length));
        });
    }

   private:
    vk::raii::DeviceMemory make_memory(std::size_t bytes, FileDescriptor import_fd) const {
        vk::ExportMemoryAllocateInfo const export_info(handle_type);
        vk::ImportMemoryFdInfoKHR const import_info(handle_type, import_fd.get());
        vk::MemoryAllocateInfo allocate_info(whole_atoms(bytes), opened_->memory_type_);
        bool const import = import_fd.get() >= 0;
        allocate_info.pNext = import ? static_cast<void const*>(&import_info) : &export_info;
        auto const before = file_of(import_fd);
        try {
            auto memory = vulkan_call(
                "vkAllocateMemory", [&] { return opened_->device_.allocateMemory(allocate_info); });
            (void)import_fd.release();  // a successful import owns the descriptor
            return memory;
        } catch (VulkanError const&) {
            // It should stay ours, but Mesa 22.3 closes it: its number may be another file's by
            // now.
            if (file_of(import_fd) != before) (void)import_fd.release();
            throw;
        }
    }

    std::size_t whole_atoms(std::size_t bytes) const {
        return (bytes + opened_->atom_ - 1) / opened_->atom_ * opened_->atom_;
    }
    vk::MappedMemoryRange whole_atoms(void const* where, std::size_t length) const {
        auto const begin = static_cast<std::size_t>(static_cast<std::byte const*>(where) -
                                                    static_cast<std::byte const*>(host));
        std::size_t const first = begin / opened_->atom_ * opened_->atom_;
        std::size_t const past = whole_atoms(begin + length);
        bool const to_end = past >= allocated;
        return {*memory_, first, to_end ? VK_WHOLE_SIZE : past - first};
    }

    std::shared_ptr<OpenedDevice const> opened_;
    vk::raii::DeviceMemory memory_;
    mutable Unflushed<vk::MappedMemoryRange> unflushed_;
};

std::unique_ptr<VulkanBlock> OpenedDevice::make_block(std::size_t size, FileDescriptor fd) const {
    return std::make_unique<Block>(shared_from_this(), size, std::move(fd));
}

vk::raii::Device OpenedDevice::make_device() const {
    if (!has_extension(physical_, VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME)) {
        throw UnsupportedError("the Vulkan driver lacks VK_KHR_external_memory_fd");
    }
    std::vector<char const*> extensions{VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    if (has_budget_) extensions.push_back(VK_EXT_MEMORY_BUDGET_EXTENSION_NAME);
    // No queue is ever used, but a device must have one: any family will do.
    auto const families = physical_.getQueueFamilyProperties();
    auto const family =
        std::find_if(families.begin(), families.end(),
                     [](vk::QueueFamilyProperties const& f) { return f.queueCount > 0; });
    if (family == families.end()) {
        throw UnsupportedError("the Vulkan device has no queue family");
    }
    float const priority = 0;
    vk::DeviceQueueCreateInfo const queue({}, static_cast<std::uint32_t>(family - families.begin()),
                                          1, &priority);
    return vulkan_call("vkCreateDevice", [&] {
        vk::DeviceCreateInfo info;
        info.setQueueCreateInfos(queue);
        info.setPEnabledExtensionNames(extensions);
        return physical_.createDevice(info);
    });
}

void OpenedDevice::choose_memory_type(DeviceOptions const& options) {
    auto const memory = physical_.getMemoryProperties();
    auto const wanted = Property::eDeviceLocal | Property::eHostVisible;
    std::optional<std::uint32_t> chosen;
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        auto const flags = memory.memoryTypes.at(i).propertyFlags;
        bool const coherent = static_cast<bool>(flags & Property::eHostCoherent);
        if ((flags & wanted) != wanted || (options.require_coherent && !coherent)) continue;
        if (!chosen || (coherent && !coherent_)) {
            chosen = i;
            coherent_ = coherent;
        }
    }
    if (!chosen) {
        throw UnsupportedError(
            fmt::format("no memory type of this device is device-local and mappable{}",
                        options.require_coherent ? " and coherent" : ""));
    }
    memory_type_ = *chosen;
    atom_ = physical_.getProperties().limits.nonCoherentAtomSize;
    if (options.force_non_coherent) coherent_ = false;
}

vk::PhysicalDeviceMemoryBudgetPropertiesEXT OpenedDevice::budget() const {
    return physical_
        .getMemoryProperties2<vk::PhysicalDeviceMemoryProperties2,
                              vk::PhysicalDeviceMemoryBudgetPropertiesEXT>()
        .get<vk::PhysicalDeviceMemoryBudgetPropertiesEXT>();
}

void OpenedDevice::check_heap(std::size_t size) const {
    auto const memory = physical_.getMemoryProperties();
    std::uint32_t const heap = memory.memoryTypes.at(memory_type_).heapIndex;
    std::uint64_t const heap_size = memory.memoryHeaps.at(heap).size;
    std::uint64_t free_bytes = heap_size;
    if (has_budget_) {
        auto const now = budget();
        std::uint64_t const used = std::min(now.heapUsage.at(heap), now.heapBudget.at(heap));
        free_bytes = now.heapBudget.at(heap) - used;
    }
    if (size > free_bytes) {
        throw OutOfMemoryError(fmt::format("{} bytes requested, but {} are free in a heap of {}",
                                           size, free_bytes, heap_size));
    }
}

void OpenedDevice::describe(DeviceInfo& info) const {
    auto const chain =
        physical_
            .getProperties2<vk::PhysicalDeviceProperties2, vk::PhysicalDeviceDriverProperties>();
    auto const& properties = chain.get<vk::PhysicalDeviceProperties2>().properties;
    auto const& driver = chain.get<vk::PhysicalDeviceDriverProperties>();
    info.vulkan_driver = fmt::format("{} {}", driver.driverName.data(), driver.driverInfo.data());
    info.vulkan_api = fmt::format("{}.{}.{}", VK_API_VERSION_MAJOR(properties.apiVersion),
                                  VK_API_VERSION_MINOR(properties.apiVersion),
                                  VK_API_VERSION_PATCH(properties.apiVersion));
    info.memory_source = MemorySource::vulkan;
    info.coherent = coherent_;
    info.atom_size = atom_;
    info.memory_type = static_cast<int>(memory_type_);
    if (info.name.empty()) info.name = properties.deviceName.data();

    auto const memory = physical_.getMemoryProperties();
    auto const now = has_budget_ ? budget() : vk::PhysicalDeviceMemoryBudgetPropertiesEXT{};
    for (std::uint32_t i = 0; i < memory.memoryHeapCount; ++i) {
        HeapInfo heap;
        heap.size = memory.memoryHeaps.at(i).size;
        heap.device_local = static_cast<bool>(memory.memoryHeaps.at(i).flags &
                                              vk::MemoryHeapFlagBits::eDeviceLocal);
        if (has_budget_) heap.budget = now.heapBudget.at(i);
        info.heaps.push_back(heap);
    }
    for (std::uint32_t i = 0; i < memory.memoryTypeCount; ++i) {
        auto const& type = memory.memoryTypes.at(i);
        MemoryTypeInfo described;
        described.heap = type.heapIndex;
        for (Property bit : {Property::eDeviceLocal, Property::eHostVisible,
                             Property::eHostCoherent, Property::eHostCached}) {
            if (type.propertyFlags & bit) described.properties.push_back(vk::to_string(bit));
        }
        info.memory_types.push_back(described);
        if (type.propertyFlags & Property::eHostVisible) {
            info.heaps.at(type.heapIndex).host_visible = true;
        }
    }
}

}  // namespace

// An open device is kept for good. One process could open a GPU about eighty times with an instance
// each, and some hundreds of times with one; then the driver (NVIDIA 580) failed.
std::shared_ptr<VulkanDevice> VulkanDevice::open(std::optional<Uuid> const& uuid,
                                                 DeviceOptions const& options) {
    // A child has neither the driver's threads nor its connection to the device.
    static ProcessMark const first_use;
    first_use.require_own();
    using Key = std::tuple<std::optional<Uuid>, bool, bool>;
    static std::mutex mutex;
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): out of memory here is the end
    static auto& kept = *new std::map<Key, std::shared_ptr<VulkanDevice>>;
    std::lock_guard const lock(mutex);
    auto& device = kept[{uuid, options.require_coherent, options.force_non_coherent}];
    if (device == nullptr) {
        device = std::make_shared<OpenedDevice>(uuid, options);
        run_exit_hooks_before_drivers();
    }
    return device;
}

}  // namespace carillon::detail
