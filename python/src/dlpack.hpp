// SPDX-License-Identifier: Apache-2.0
// DLPack: arrays over a device's memory, without a copy. Each array keeps the memory.
#pragma once

#include "bindings.hpp"
#include "py_memory.hpp"

namespace carillon::python {

// (device type, number), as DLPack numbers them: CUDA's device, CUDA's host memory, or the CPU.
[[nodiscard]] nb::tuple dlpack_device(SharedMemory const& memory);

// A capsule of all bytes. `dl_device` (1, 0) asks for the CPU's mapping. `stream` is not waited
// for: what the CPU writes needs none. Throws UsageError for freed memory, BufferError for a
// device that it is not on and for a copy.
[[nodiscard]] nb::object dlpack(SharedMemory const& memory, nb::object const& stream,
                                nb::object const& max_version, nb::object const& dl_device,
                                nb::object const& copy);

}  // namespace carillon::python
