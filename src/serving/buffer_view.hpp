// SPDX-License-Identifier: Apache-2.0
// Where this process has a buffer's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "device/allocation.hpp"
#include "device/backend.hpp"
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

    // May make another mapping of it. Throws SystemError.
    virtual void use_for(BufferUse use) = 0;
    // Whether the system seals the memory, which nobody may have mapped for writing then.
    [[nodiscard]] virtual bool sealed_by_system() const = 0;
    [[nodiscard]] virtual std::byte* host() const = 0;
    // nullptr: kernels of this process cannot reach it.
    [[nodiscard]] virtual void* device() const = 0;
    [[nodiscard]] bool write_combining() const { return write_combining_; }
    // Both of bytes that are in it; `size` is not 0. Across a bus with a team.
    void write(CopyTeam& team, std::size_t offset, std::byte const* from, std::size_t size) const;
    void read(CopyTeam& team, std::byte* to, std::size_t offset, std::size_t size) const;
    // All that this process has written to the first `size` bytes is in the memory then.
    void settle(std::size_t size) const;

   private:
    [[nodiscard]] virtual RangeSync const* sync() const = 0;

    bool write_combining_;
};

// Shared memory of the host's, which can be sealed: it is mapped anew to be read.
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
class DriverView : public BufferView {
   public:
    using BufferView::BufferView;
    void use_for(BufferUse use) override;
    [[nodiscard]] bool sealed_by_system() const override { return false; }

   private:
    [[nodiscard]] virtual std::size_t mapped_size() const = 0;

    std::atomic<bool> writable_ = true;  // as whoever had the last buffer there left it
};

// Of this process's own device.
class OwnView final : public DriverView {
   public:
    OwnView(std::shared_ptr<Memory const> memory, bool write_combining)
        : DriverView(write_combining), memory_(std::move(memory)) {}
    [[nodiscard]] std::byte* host() const override {
        return static_cast<std::byte*>(memory_->host_ptr());
    }
    [[nodiscard]] void* device() const override { return memory_->device_ptr(); }

   private:
    [[nodiscard]] RangeSync const* sync() const override { return memory_->range_sync(); }
    [[nodiscard]] std::size_t mapped_size() const override { return memory_->size(); }

    std::shared_ptr<Memory const> memory_;
};

// Of another process's, mapped without CUDA.
class ForeignView final : public DriverView {
   public:
    // `emulated`: the device's kernels, of whichever process, are threads of the CPU.
    ForeignView(ForeignMemory memory, bool write_combining, bool emulated)
        : DriverView(write_combining), memory_(std::move(memory)), emulated_(emulated) {}
    [[nodiscard]] std::byte* host() const override {
        return static_cast<std::byte*>(memory_.host_ptr());
    }
    [[nodiscard]] void* device() const override { return emulated_ ? host() : nullptr; }

   private:
    [[nodiscard]] RangeSync const* sync() const override { return memory_.range_sync(); }
    [[nodiscard]] std::size_t mapped_size() const override { return memory_.size(); }

    ForeignMemory memory_;
    bool emulated_;
};

// The same, at an address of a device of this process's too.
class ImportedView final : public DriverView {
   public:
    // Throws what Backend::import throws.
    ImportedView(Device const& device, FileDescriptor fd, std::size_t size, bool write_combining);
    ~ImportedView() override;
    ImportedView(ImportedView const&) = delete;
    ImportedView& operator=(ImportedView const&) = delete;
    [[nodiscard]] std::byte* host() const override {
        return static_cast<std::byte*>(allocation_->host);
    }
    [[nodiscard]] void* device() const override { return allocation_->device; }

   private:
    [[nodiscard]] RangeSync const* sync() const override {
        return allocation_->coherent ? nullptr : allocation_.get();
    }
    [[nodiscard]] std::size_t mapped_size() const override { return allocation_->size; }

    std::shared_ptr<Backend> backend_;
    std::unique_ptr<Allocation> allocation_;
};

}  // namespace carillon::detail
