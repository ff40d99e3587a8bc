// SPDX-License-Identifier: Apache-2.0
// `HeldMemory`, for libraries beside Carillon whose callers pass only a device's address, such as
// gdrcopy's calls (compat/): finds Carillon's device memory at that address, and holds it.
//
// A process may have several copies of Carillon: each program and each shared library that is
// linked with libcarillon.a has one, and sees no names of the others. Therefore each copy has an
// ELF note with the name and the type of CopyNote. The note's description is a signed 64-bit
// number: the distance in bytes from that number to the copy's HoldMemory function.
// dl_iterate_phdr() finds the notes of all copies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

struct CopyNote {
    static constexpr std::string_view name = "Carillon";
    static constexpr std::uint32_t type = 4;  // each layout of HeldMemory has its own
};

// Held memory from Device::allocate: it stays, even if its user frees it, until its last hold ends.
struct HeldMemory {
    std::uint64_t device = 0;   // the device's address of the first byte
    std::uint64_t size = 0;     // bytes
    std::byte* host = nullptr;  // the CPU's address of the first byte
    bool write_combining = false;
    // Ends one hold of the memory that begins at `device`. It may free the memory, so the caller
    // must not hold a lock that a fork or the dynamic linker waits for.
    void (*release)(std::uint64_t device) = nullptr;
};

enum class HoldResult : std::uint8_t {
    none,       // the copy has no such memory
    held,       // the memory is held
    inherited,  // it is a parent process's memory: not held, and `host` is not mapped here
    busy        // another thread is using the copy's list: try again
};

// Holds the copy's memory that overlaps the `size` bytes from `address` on, a device address; the
// first one if several do. It finds only coherent memory that its user has not freed. It never
// waits, so the caller may hold a lock that a fork waits for.
using HoldMemory = HoldResult(std::uint64_t address, std::uint64_t size, HeldMemory& found);

}  // namespace carillon
