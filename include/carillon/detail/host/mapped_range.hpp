// SPDX-License-Identifier: Apache-2.0
// Where the CPU has device memory, by the device's address of it: for libraries that are given
// nothing but that address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "carillon/detail/wire/language.hpp"

namespace carillon::detail {

// One memory of Device::allocate. What lists it may be another copy of the library than the one
// that asks, of another version: the first members stay what they are.
struct MappedRange {
    std::uint64_t device;  // the device's address of its first byte
    std::uint64_t size;    // bytes
    std::byte* host;       // the CPU's; nullptr: a parent process's memory, not mapped here
    std::uint32_t write_combining;
    // Holds the memory that begins at `device` (on), or ends one hold of it: memory that its user
    // frees stays until nobody holds it. False if it has been freed, and is not held then.
    bool (*hold)(std::uint64_t device, bool on);
};

// The memory in which the first of `size` bytes from `device_address` on lies; or that which begins
// among them in the same page of 64 KiB, as where somebody has rounded its address. Of any copy of
// the library in this process: each shared library that is made of it is one. Memory that is not
// coherent is not found.
[[nodiscard]] std::optional<MappedRange> find_mapped(std::uint64_t device_address,
                                                     std::uint64_t size);

}  // namespace carillon::detail
