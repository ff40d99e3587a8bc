// SPDX-License-Identifier: Apache-2.0
// The base of each backend's memory. A Memory owns one.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>

#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/memory.hpp"
#include "device/mapped_ranges.hpp"

namespace carillon::detail {

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

}  // namespace carillon::detail
