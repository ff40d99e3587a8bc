// SPDX-License-Identifier: Apache-2.0
// Where this process has a buffer's memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "device/copy_team.hpp"
#include "os/shared_memory.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

enum class BufferUse : std::uint8_t { none, reading, writing };

// Shared memory of the host's can be sealed, and is mapped anew for each use. Memory of a driver's
// stays mapped: the CPU's pages are made read-only where the driver's mapping lets them.
class BufferView {
   public:
    // The addresses of a driver's memory, and its owner. `sync`: for memory that is not coherent.
    struct Mapped {
        void* host = nullptr;
        void* device = nullptr;  // nullptr: kernels of this process cannot reach it
        std::size_t size = 0;
        RangeSync const* sync = nullptr;
        std::shared_ptr<void const> memory{};
    };
    BufferView(Mapped mapped, bool write_combining)
        : mapped_(std::move(mapped)), write_combining_(write_combining) {}
    BufferView(std::shared_ptr<FileDescriptor const> file, std::size_t size)
        : file_(std::move(file)), mapped_{.size = size}, use_(BufferUse::none) {}

    // It may map the memory anew. Throws SystemError.
    void use_for(BufferUse use);
    // Whether the system seals the memory: then nobody may have it mapped for writing.
    [[nodiscard]] bool sealed_by_system() const { return file_ != nullptr; }
    [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(mapped_.host); }
    [[nodiscard]] void* device() const { return mapped_.device; }
    [[nodiscard]] bool write_combining() const { return write_combining_; }
    // Both need bytes that are in the memory; `size` is not 0. A team copies across a bus.
    void write(CopyTeam& team, std::size_t offset, std::byte const* from, std::size_t size) const;
    void read(CopyTeam& team, std::byte* to, std::size_t offset, std::size_t size) const;
    // Afterwards all that this process has written to the first `size` bytes is in the memory.
    void settle(std::size_t size) const;

   private:
    void map_file(BufferUse use);

    std::shared_ptr<FileDescriptor const> file_;  // of shared memory of the host's
    Mapped mapped_;
    bool write_combining_ = false;
    std::atomic<BufferUse> use_ = BufferUse::writing;  // the last buffer in a driver's left it so
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
