// SPDX-License-Identifier: Apache-2.0
#include "serving/store_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "error/sizes.hpp"

namespace carillon::detail {
namespace {

constexpr std::size_t least_memory = std::size_t{1} << 16;

}  // namespace

StoreMemory::StoreMemory(Device const& device, bool of_host, std::uint64_t number, std::size_t size,
                         uid_t user)
    : number_(number), size_(size), user_(user) {
    if (of_host) {
        require_machine_memory(size);
        file_ = std::make_shared<FileDescriptor const>(new_sealable_memory(size));
        return;
    }
    memory_ = std::make_shared<Memory const>(device.allocate(size));
    view_ = view_of_own(memory_, device.traits().write_combining);
}

FileDescriptor StoreMemory::export_fd() const {
    return of_host() ? file_->duplicate() : memory_->export_fd();
}

std::shared_ptr<BufferView> StoreMemory::view() const {
    if (!of_host()) return view_;
    return std::make_shared<FileView>(file_, size_);
}

bool StoreMemory::seal() const { return !of_host() || seal_against_writing(*file_); }

bool StoreMemory::tell(HolderNumber holder, uid_t user) {
    if (user != user_) strangers_ = true;
    return told_.insert(holder).second;
}

std::size_t store_memory_size(std::size_t bytes) {
    if (bytes <= least_memory) return least_memory;
    std::size_t const step = std::max(std::bit_floor(bytes), least_memory) / 8;
    return (bytes + step - 1) / step * step;
}

bool can_export_memory(Device const& device) {
    return device.info().memory_source == MemorySource::vulkan;
}

}  // namespace carillon::detail
