// SPDX-License-Identifier: Apache-2.0
// How a library beside Carillon finds Carillon's device memory where its caller gives it nothing
// but a device's address. gdrcopy's calls are such calls (compat/).
//
// A process may have several copies of Carillon: each program and each shared library that is
// linked with libcarillon.a has one, and sees no names of the others. Therefore each copy has an
// ELF note of the name and the type of CopyNote. The note's description is a signed number of 64
// bits: the distance in bytes from that number to the copy's HoldMemory function. dl_iterate_phdr()
// finds the notes of all copies.
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

// One memory that Device::allocate gave, which is held: it stays although its user frees it, until
// its last hold has ended.
struct HeldMemory {
    std::uint64_t device = 0;   // the device's address of the first byte
    std::uint64_t size = 0;     // bytes
    std::byte* host = nullptr;  // the CPU's address of the first byte
    bool write_combining = false;
    // Ends one hold of the memory that begins at `device`. The caller holds no lock that a fork or
    // the dynamic linker waits for: this call may free the memory.
    void (*release)(std::uint64_t device) = nullptr;
};

enum class HoldResult : std::uint8_t {
    none,       // the copy has no such memory
    held,       // the memory is held
    inherited,  // the memory is a parent process's: it is not held, and `host` is not mapped here
    busy        // another thread uses the copy's list at this moment: ask again later
};

// Holds the memory of one copy that the `size` bytes from `address` on touch, the first of them if
// there are several. The address is the device's. Only coherent memory that its user has not freed
// is found. The function waits for nothing: the caller may hold a lock that a fork waits for.
using HoldMemory = HoldResult(std::uint64_t address, std::uint64_t size, HeldMemory& found);

}  // namespace carillon
