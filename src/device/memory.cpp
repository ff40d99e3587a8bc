// SPDX-License-Identifier: Apache-2.0
#include "carillon/memory.hpp"

#include <fmt/format.h>

#include "carillon/copy.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/host/door.hpp"
#include "carillon/error.hpp"
#include "device/backend.hpp"
#include "error/sizes.hpp"

namespace carillon {

Memory::Memory(std::shared_ptr<detail::Backend> backend,
               std::unique_ptr<detail::Allocation> allocation)
    : backend_(std::move(backend)), allocation_(std::move(allocation)) {}

Memory::Memory() noexcept = default;
Memory::Memory(Memory&&) noexcept = default;

Memory& Memory::operator=(Memory&& other) noexcept {
    if (this != &other) {
        retire();
        backend_ = std::move(other.backend_);
        allocation_ = std::move(other.allocation_);
    }
    return *this;
}

Memory::~Memory() { retire(); }

void Memory::retire() {
    if (allocation_ == nullptr) return;
    if (backend_->mark().inherited()) {  // the parent frees it
        (void)allocation_.release();
    } else {
        if (allocation_->listed && allocation_->listed->take_over_if_held(*this)) return;
        allocation_->listed.reset();  // its user has freed it, although it may stay for a while
        backend_->residents().retire(std::move(allocation_));
    }
}

void Memory::free_at_once() noexcept {
    if (allocation_ == nullptr || backend_->mark().inherited()) return;
    if (backend_->traits().frees_beside_kernels) allocation_.reset();
}

void* Memory::host_ptr() const {
    if (!allocation_) return nullptr;
    return detail::in_call("Memory::host_ptr", backend_->mark(), [&] { return allocation_->host; });
}
void* Memory::device_ptr() const { return allocation_ ? allocation_->device : nullptr; }
std::size_t Memory::size() const { return allocation_ ? allocation_->size : 0; }
bool Memory::coherent() const { return !allocation_ || allocation_->coherent; }
std::size_t Memory::atom_size() const { return allocation_ ? allocation_->atom_size : 1; }

void Memory::flush(std::size_t offset, std::size_t size) const {
    detail::in_call("Memory::flush", [&] {
        detail::require_range(offset, size, this->size());
        if (allocation_) backend_->mark().require_own();
        detail::X86::store_fence();
        if (!coherent()) allocation_->flush(static_cast<std::byte*>(host_ptr()) + offset, size);
    });
}

void Memory::invalidate(std::size_t offset, std::size_t size) const {
    detail::in_call("Memory::invalidate", [&] {
        detail::require_range(offset, size, this->size());
        if (allocation_) backend_->mark().require_own();
        if (!coherent())
            allocation_->invalidate(static_cast<std::byte*>(host_ptr()) + offset, size);
    });
}

detail::RangeSync const* Memory::range_sync() const {
    return coherent() ? nullptr : static_cast<detail::RangeSync const*>(allocation_.get());
}

FileDescriptor Memory::export_fd() const {
    return detail::in_call("Memory::export_fd", [&] {
        if (!allocation_) throw UsageError("the memory is empty");
        backend_->mark().require_own();
        return allocation_->export_fd();
    });
}

void copy_to_device(Memory const& to, std::size_t offset, std::span<std::byte const> from,
                    StoreKind kind) {
    detail::in_call("copy_to_device", [&] {
        detail::require_range(offset, from.size(), to.size());
        detail::require_bytes_there(from);
        if (!supported(kind)) [[unlikely]]
            throw UnsupportedError(fmt::format("this CPU lacks {} stores", to_string(kind)));
        stream_copy(kind, static_cast<std::byte*>(to.host_ptr()) + offset, from.data(),
                    from.size());
        to.flush(offset, from.size());
    });
}

void copy_from_device(std::span<std::byte> to, Memory const& from, std::size_t offset) {
    detail::in_call("copy_from_device", [&] {
        detail::require_range(offset, to.size(), from.size());
        detail::require_bytes_there(to);
        if (to.empty()) return;
        from.invalidate(offset, to.size());
        stream_load(to.data(), static_cast<std::byte const*>(from.host_ptr()) + offset, to.size());
    });
}

}  // namespace carillon
