// SPDX-License-Identifier: Apache-2.0
// The base of each backend's memory. A Memory owns one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/held_memory.hpp"
#include "carillon/memory.hpp"

namespace carillon::detail {

// Makes memory findable by its address (hold_memory) until it is freed.
class ListedRange {
   public:
    ListedRange(void* device, void* host, std::size_t size, bool write_combining);
    ~ListedRange();
    ListedRange(ListedRange const&) = delete;
    ListedRange& operator=(ListedRange const&) = delete;

    // The user frees `memory`, to which this range belongs. If it is held, the list takes it over
    // until the last hold ends, nobody finds it any more, and the result is true.
    [[nodiscard]] bool take_over_if_held(Memory& memory) const noexcept;

   private:
    std::uint64_t begin_;
};

// The HoldMemory function of this copy. Its ELF note refers to it by an assembler name that no
// other copy sees.
[[nodiscard, gnu::visibility("hidden")]] HoldResult hold_memory(
    std::uint64_t address, std::uint64_t size, HeldMemory& found) asm("carillon_hold_memory");

// One block of memory, freed by the destructor.
class Allocation : public RangeSync {
   public:
    virtual ~Allocation() = default;
    void* host = nullptr;
    void* device = nullptr;
    std::size_t size = 0;
    bool coherent = true;
    std::size_t atom_size = 1;
    std::shared_ptr<void const> owner;  // for the caller's memory, until it is unregistered
    std::unique_ptr<Allocation> next;   // while it is retired
    std::optional<ListedRange> listed;  // for memory of Device::allocate

    void flush(void const* /*where*/, std::size_t /*size*/) const override {}
    void invalidate(void const* /*where*/, std::size_t /*size*/) const override {}
    [[nodiscard]] virtual FileDescriptor export_fd() const = 0;
};

// Frees it, or keeps it for good when the process exits: its driver may have gone.
void free_or_keep(std::unique_ptr<Allocation> allocation) noexcept;

// A started kernel. Destroying one that has not finished leaves it running.
class Execution {
   public:
    virtual ~Execution() = default;
    std::unique_ptr<Execution> next;  // while it is an orphan

    // Whether every block has returned. Throws the error that ended the kernel, if there is one.
    [[nodiscard]] virtual bool finished() = 0;
    // Whether no block runs any more, however the kernel ended; does not throw.
    [[nodiscard]] virtual bool gone() noexcept = 0;
};

// Machine code that a device has loaded. It is unloaded when nobody has it and no kernel lives on
// the device.
class LoadedCode {
   public:
    virtual ~LoadedCode() = default;
    // A kernel, for Program::loaded. Throws CudaError.
    [[nodiscard]] virtual void* kernel(char const* name) const = 0;
};

}  // namespace carillon::detail
