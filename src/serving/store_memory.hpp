// SPDX-License-Identifier: Apache-2.0
// The memory of a buffer, and which clients have had a descriptor of it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "carillon/device.hpp"
#include "serving/buffer_view.hpp"

namespace carillon::detail {

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
    [[nodiscard]] FileDescriptor export_fd() const;
    // This process's view.
    [[nodiscard]] std::shared_ptr<BufferView> view() const;
    // Whether nobody can write it any more, as far as can be known.
    [[nodiscard]] bool seal() const;

    // Notes that a holder has a descriptor of it; false: it has had one before.
    [[nodiscard]] bool tell(HolderNumber holder, uid_t user);
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

// The size of the memory for a buffer of `bytes`: in steps of an eighth, so that buffers of nearly
// one size can have each other's memory.
[[nodiscard]] std::size_t store_memory_size(std::size_t bytes);
// Whether other processes can map the device's own memory.
[[nodiscard]] bool can_export_memory(Device const& device);

}  // namespace carillon::detail
