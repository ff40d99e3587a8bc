// SPDX-License-Identifier: Apache-2.0
// Checks of the arguments that rings and channels get. Each throws UsageError.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/error.hpp"

namespace carillon {
class ChannelMemory;
class CARILLON_LAYOUT Device;
}  // namespace carillon

namespace carillon::detail {

// Throws UsageError unless `capacity` is a power of two from 2 to 2^20.
void check_capacity(std::uint32_t capacity);
// Throws UsageError unless the first message's number is from 1 to 2^63: no message is 0, and no
// message comes after the last number.
void check_first(Sequence first);

// Checks an object for other processes: check_capacity, check_first, and 1 to 1024 readers.
void check_shared(std::uint32_t capacity, unsigned readers, Sequence first);
// Returns `bytes`. Throws UsageError unless a chunk can have this size.
std::uint32_t checked_chunk_bytes(std::size_t bytes);

// Returns `memory`. Throws UsageError for none, for another device's, if it has no channel `index`,
// or no room for messages of `shape`, whose capacity is ignored; and for a PersistentKernel's
// memory, unless it is `for_its_kernel`.
[[nodiscard]] std::shared_ptr<ChannelMemory> checked_memory(Device const& device,
                                                            std::shared_ptr<ChannelMemory> memory,
                                                            unsigned index,
                                                            ChannelShape const& shape,
                                                            bool for_its_kernel);

// Throws UsageError for messages at a null pointer, if there are any.
template <class T>
void require_messages(std::span<T> messages) {
    if (messages.data() != nullptr || messages.empty()) [[likely]]
        return;
    throw UsageError("the messages are a null pointer");
}

}  // namespace carillon::detail
