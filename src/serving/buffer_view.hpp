// SPDX-License-Identifier: Apache-2.0
// Where this process has a buffer's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "device/copy_team.hpp"
#include "os/shared_memory.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

enum class BufferUse : std::uint8_t { none, reading, writing };

class BufferView {
   public:
    explicit BufferView(bool write_combining) : write_combining_(write_combining) {}
    virtual ~BufferView() = default;
    BufferView(BufferView const&) = delete;
    BufferView& operator=(BufferView const&) = delete;

    // It may map the memory anew. Throws SystemError.
    virtual void use_for(BufferUse use) = 0;
    // Whether the system seals the memory: then nobody may have it mapped for writing.
    [[nodiscard]] virtual bool sealed_by_system() const = 0;
    [[nodiscard]] virtual std::byte* host() const = 0;
    // nullptr: kernels of this process cannot reach it.
    [[nodiscard]] virtual void* device() const = 0;
    [[nodiscard]] bool write_combining() const { return write_combining_; }
    // Both need bytes that are in the memory; `size` is not 0. A team copies across a bus.
    void write(CopyTeam& team, std::size_t offset, std::byte const* from, std::size_t size) const;
    void read(CopyTeam& team, std::byte* to, std::size_t offset, std::size_t size) const;
    // Afterwards all that this process has written to the first `size` bytes is in the memory.
    void settle(std::size_t size) const;

   private:
    [[nodiscard]] virtual RangeSync const* sync() const = 0;

    bool write_combining_;
};

// Shared memory of the host's, which can be sealed: it is mapped anew for reading.
class FileView final : public BufferView {
   public:
    FileView(std::shared_ptr<FileDescriptor const> file, std::size_t size)
        : BufferView(false), file_(std::move(file)), size_(size) {}
    void use_for(BufferUse use) override;
    [[nodiscard]] bool sealed_by_system() const override { return true; }
    [[nodiscard]] std::byte* host() const override {
        return mapping_ ? static_cast<std::byte*>(mapping_->get()) : nullptr;
    }
    [[nodiscard]] void* device() const override { return host(); }
    [[nodiscard]] FileDescriptor const& file() const { return *file_; }

   private:
    [[nodiscard]] RangeSync const* sync() const override { return nullptr; }

    std::shared_ptr<FileDescriptor const> file_;
    std::size_t size_;
    std::unique_ptr<SharedMapping> mapping_;
    BufferUse used_ = BufferUse::none;
};

// Memory of a driver's, which stays mapped: the CPU's pages are made read-only where the driver's
// mapping lets them.
class DriverView final : public BufferView {
   public:
    // The addresses of the memory, and its owner. `sync`: for memory that is not coherent.
    struct Mapped {
        void* host;
        void* device;
        std::size_t size;
        RangeSync const* sync;
        std::shared_ptr<void const> memory;
    };
    DriverView(Mapped mapped, bool write_combining)
        : BufferView(write_combining), mapped_(std::move(mapped)) {}
    void use_for(BufferUse use) override;
    [[nodiscard]] bool sealed_by_system() const override { return false; }
    [[nodiscard]] std::byte* host() const override { return static_cast<std::byte*>(mapped_.host); }
    [[nodiscard]] void* device() const override { return mapped_.device; }

   private:
    [[nodiscard]] RangeSync const* sync() const override { return mapped_.sync; }

    Mapped mapped_;
    std::atomic<bool> writable_ = true;  // the last buffer there left it so
};

// A view of memory of this process's own device.
[[nodiscard]] std::shared_ptr<BufferView> view_of_own(std::shared_ptr<Memory const> memory,
                                                      bool write_combining);
// A view of another process's memory, mapped without CUDA. `emulated`: the device's kernels, of any
// process, are threads of the CPU.
[[nodiscard]] std::shared_ptr<BufferView> view_of_foreign(ForeignMemory memory,
                                                          bool write_combining, bool emulated);
// A view that also has an address of a device of this process. Throws what Backend::import throws.
[[nodiscard]] std::shared_ptr<BufferView> view_of_imported(Device const& device, FileDescriptor fd,
                                                           std::size_t size, bool write_combining);

}  // namespace carillon::detail
