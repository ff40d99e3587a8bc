// SPDX-License-Identifier: Apache-2.0
#include "vulkan/vulkan_block.hpp"

#include <sys/stat.h>

#include <utility>

#include "device/unflushed.hpp"

namespace carillon::detail {
namespace {

constexpr auto handle_type = vk::ExternalMemoryHandleTypeFlagBits::eOpaqueFd;

// Identifies the file of a descriptor.
class Identity {
   public:
    explicit Identity(FileDescriptor const& fd) {
        struct stat found {};
        if (::fstat(fd.get(), &found) == 0) of_ = {found.st_dev, found.st_ino};
    }
    [[nodiscard]] bool operator==(Identity const&) const = default;

   private:
    std::pair<dev_t, ino_t> of_;
};

class Block final : public VulkanBlock {
   public:
    Block(VulkanContext context, std::size_t size, FileDescriptor import_fd)
        : context_(std::move(context)),
          allocated_((size + context_.atom - 1) / context_.atom * context_.atom),
          memory_(make_memory(std::move(import_fd))) {
        mapped_ = vulkan_call("vkMapMemory", [&] { return memory_.mapMemory(0, VK_WHOLE_SIZE); });
    }

    ~Block() override { memory_.unmapMemory(); }
    Block(Block const&) = delete;
    Block& operator=(Block const&) = delete;

    void* mapped() const override { return mapped_; }
    std::size_t allocated() const override { return allocated_; }

    FileDescriptor export_fd() const override {
        FileDescriptor fd(vulkan_call("vkGetMemoryFdKHR", [&] {
            return context_.device->getMemoryFdKHR({*memory_, handle_type});
        }));
        fd.close_on_exec();  // Vulkan leaves that to the driver, and lavapipe does not do it
        return fd;
    }

    void flush(void const* where, std::size_t size) const override {
        unflushed_.flush(whole_atoms(where, size), [this](vk::MappedMemoryRange const& range) {
            vulkan_call("vkFlushMappedMemoryRanges",
                        [&] { context_.device->flushMappedMemoryRanges(range); });
        });
    }

    void invalidate(void const* where, std::size_t size) const override {
        vulkan_call("vkInvalidateMappedMemoryRanges", [&] {
            context_.device->invalidateMappedMemoryRanges(whole_atoms(where, size));
        });
    }

   private:
    vk::raii::DeviceMemory make_memory(FileDescriptor import_fd) const {
        vk::ExportMemoryAllocateInfo const export_info(handle_type);
        vk::ImportMemoryFdInfoKHR const import_info(handle_type, import_fd.get());
        vk::MemoryAllocateInfo allocate_info(allocated_, context_.memory_type);
        bool const import = import_fd.get() >= 0;
        allocate_info.pNext = import ? static_cast<void const*>(&import_info) : &export_info;
        Identity const imported(import_fd);
        try {
            auto memory = vulkan_call(
                "vkAllocateMemory", [&] { return context_.device->allocateMemory(allocate_info); });
            (void)import_fd.release();  // a successful import owns the descriptor
            return memory;
        } catch (VulkanError const&) {
            // It should stay ours, but Mesa 22.3 closes it: its number may be another file's by
            // now.
            if (!(Identity(import_fd) == imported)) (void)import_fd.release();
            throw;
        }
    }

    vk::MappedMemoryRange whole_atoms(void const* where, std::size_t size) const {
        auto const begin = static_cast<std::size_t>(static_cast<std::byte const*>(where) -
                                                    static_cast<std::byte const*>(mapped_));
        std::size_t const first = begin / context_.atom * context_.atom;
        std::size_t const past = (begin + size + context_.atom - 1) / context_.atom * context_.atom;
        bool const to_end = past >= allocated_;
        return {*memory_, first, to_end ? VK_WHOLE_SIZE : past - first};
    }

    VulkanContext context_;
    std::size_t allocated_;
    vk::raii::DeviceMemory memory_;
    void* mapped_ = nullptr;
    mutable Unflushed<vk::MappedMemoryRange> unflushed_;
};

}  // namespace

std::unique_ptr<VulkanBlock> make_vulkan_block(VulkanContext context, std::size_t size,
                                               FileDescriptor import_fd) {
    return std::make_unique<Block>(std::move(context), size, std::move(import_fd));
}

}  // namespace carillon::detail
