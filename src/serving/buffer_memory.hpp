// SPDX-License-Identifier: Apache-2.0
// A buffer's memory: in a process that has the buffer, and in the store's process.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>

#include "carillon/device.hpp"
#include "carillon/memory.hpp"
#include "device/copy_team.hpp"
#include "os/shared_memory.hpp"
#include "vulkan/foreign_memory.hpp"

namespace carillon::detail {

enum class BufferUse : std::uint8_t { none, reading, writing };

// A process's mapping of a buffer's memory. The host's can be sealed by the system, and is mapped
// anew for each use. A driver's stays mapped: the CPU's pages are made read-only where its mapping
// lets them.
class BufferView {
   public:
    // Shared memory of the host's.
    BufferView(std::shared_ptr<FileDescriptor const> file, std::size_t size)
        : file_(std::move(file)), mapped_{.size = size}, used_(BufferUse::none) {}
    // Memory of this process's own device.
    BufferView(std::shared_ptr<Memory const> const& memory, bool write_combining);
    // Another process's memory, mapped without CUDA. `emulated`: the device's kernels, of any
    // process, are threads of the CPU.
    BufferView(ForeignMemory memory, bool write_combining, bool emulated);
    // Another process's memory, which also has an address of a device of this process. Throws what
    // Backend::import throws.
    BufferView(Device const& device, FileDescriptor fd, std::size_t size, bool write_combining);

    // It may map the memory anew. Throws SystemError.
    void use_for(BufferUse use);
    // Whether the system seals the memory: then nobody may have it mapped for writing.
    [[nodiscard]] bool sealed_by_system() const { return file_ != nullptr; }
    [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(mapped_.host); }
    // nullptr: kernels of this process cannot reach it.
    [[nodiscard]] void* device() const { return mapped_.device; }
    [[nodiscard]] bool write_combining() const { return write_combining_; }
    // Both need bytes that are in the memory; `size` is not 0. A team copies across a bus.
    void write(CopyTeam& team, std::size_t offset, std::byte const* from, std::size_t size) const;
    void read(CopyTeam& team, std::byte* to, std::size_t offset, std::size_t size) const;
    // Afterwards all that this process has written to the first `size` bytes is in the memory.
    void settle(std::size_t size) const;

   private:
    struct Mapped {
        void* host = nullptr;
        void* device = nullptr;
        std::size_t size = 0;
        RangeSync const* sync = nullptr;  // of memory that is not coherent
        std::shared_ptr<void const> memory{};
    };

    void map_file(BufferUse use);

    std::shared_ptr<FileDescriptor const> file_;  // of the host's memory
    Mapped mapped_;
    bool write_combining_ = false;
    std::atomic<BufferUse> used_ = BufferUse::writing;  // a driver's: the last buffer left it so
};

// The number of a holder: a connection to a store, or the store's own process.
using HolderNumber = std::uint64_t;
inline constexpr HolderNumber own_process = 0;

// The memory of one buffer, and then of another of the same user: an allocation of its own, of
// which others get descriptors.
class StoreMemory {
   public:
    // `number`: another one for each. Throws what Device::allocate throws; SystemError.
    StoreMemory(Device const& device, bool of_host, std::uint64_t number, std::size_t size,
                uid_t user);

    [[nodiscard]] std::uint64_t number() const { return number_; }
    [[nodiscard]] std::size_t size() const { return size_; }
    [[nodiscard]] uid_t user() const { return user_; }
    [[nodiscard]] bool of_host() const { return view_ == nullptr; }
    [[nodiscard]] FileDescriptor export_fd() const {
        return of_host() ? file_->duplicate() : memory_->export_fd();
    }
    // This process's view.
    [[nodiscard]] std::shared_ptr<BufferView> view() const {
        return of_host() ? std::make_shared<BufferView>(file_, size_) : view_;
    }
    // Whether nobody can write it any more, as far as can be known.
    [[nodiscard]] bool seal() const { return !of_host() || seal_against_writing(*file_); }

    // Notes that a holder has a descriptor of it; false: it has had one before.
    [[nodiscard]] bool tell(HolderNumber holder, uid_t user) {
        strangers_ |= user != user_;
        return told_.insert(holder).second;
    }
    void forget(HolderNumber holder) { told_.erase(holder); }
    // Notes the maker of the last buffer there. While the maker has a mapping of it, which may be
    // writable, nobody else makes another buffer there.
    void made_by(HolderNumber maker) { maker_ = maker; }
    [[nodiscard]] bool is_spare_of(HolderNumber holder) const {
        return maker_ == holder && told_.contains(holder);
    }
    [[nodiscard]] bool is_free_for(HolderNumber holder) const {
        return maker_ == holder || !told_.contains(maker_);
    }
    // Whether another buffer of its user may have it: unless it is sealed, or others could write
    // it.
    [[nodiscard]] bool usable_again() const { return !of_host() && !strangers_; }

   private:
    std::uint64_t number_;
    std::size_t size_;
    uid_t user_;
    std::shared_ptr<FileDescriptor const> file_;  // of host memory
    std::shared_ptr<Memory const> memory_;
    std::shared_ptr<BufferView> view_;  // of device memory
    HolderNumber maker_ = own_process;
    std::set<HolderNumber> told_;
    bool strangers_ = false;
};

}  // namespace carillon::detail
