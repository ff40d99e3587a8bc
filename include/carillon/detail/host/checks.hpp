// SPDX-License-Identifier: Apache-2.0
// What rings and channels cannot be made of, or be given. Each throws UsageError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "carillon/channel_memory.hpp"
#include "carillon/detail/wire/line.hpp"
#include "carillon/device.hpp"
#include "carillon/error.hpp"

namespace carillon::detail {

// Throws UsageError unless `capacity` is a power of two from 2 to 2^20.
void check_capacity(std::uint32_t capacity);
// The same for the number of a first message, from 1 to 2^63: none is 0, and none comes after the
// last.
void check_first(Sequence first);

// What an object that is lent to other processes cannot be made of: check_capacity, check_first,
// and readers that are not 1 to 1024.
void check_shared(std::uint32_t capacity, unsigned readers, Sequence first);
// Throws UsageError unless a chunk can have so many bytes.
void check_chunk_bytes(std::size_t bytes);

// `memory`. Throws UsageError for none, for that of another device, and
// where it has no channel `index` or no room for messages of `shape`, whose capacity is not looked
// at; and, unless it is `for_its_kernel`, for that of a PersistentKernel.
[[nodiscard]] std::shared_ptr<ChannelMemory> checked_memory(Device const& device,
                                                            std::shared_ptr<ChannelMemory> memory,
                                                            unsigned index,
                                                            ChannelShape const& shape,
                                                            bool for_its_kernel);

// Throws UsageError for messages at a null pointer, unless there are none.
template <class T>
void require_messages(std::span<T> messages) {
    if (messages.data() != nullptr || messages.empty()) [[likely]]
        return;
    throw UsageError("the messages are at a null pointer");
}

}  // namespace carillon::detail
