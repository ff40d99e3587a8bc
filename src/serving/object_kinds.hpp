// SPDX-License-Identifier: Apache-2.0
// The differences between the kinds of objects that an owner can serve: a row for each kind. A new
// kind is a row here and the file with its ends.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/object_view.hpp"
#include "carillon/detail/protocol/ring_view.hpp"
#include "carillon/object_kind.hpp"

namespace carillon::detail {

// Bytes of the two memories of a client. An object may have no host memory.
struct MemoryBytes {
    std::size_t device;
    std::size_t host;
};

// A ring by which an object's messages are counted.
struct CountedRing {
    RingView view;
    bool slots_in_device;  // and its credit word in host memory; otherwise the other way round
};

struct KindRow {
    std::string_view name;
    bool published = false;     // any number of clients map it, for reading alone
    bool any_lines = false;     // its slots may have a number of lines that is no power of two
    bool chunks = false;        // it has chunks beside its slots
    bool begins_again = false;  // a client may come before the device has left the one before
    MemoryBytes (*bytes)(ChannelShape const& shape, std::uint32_t chunk_bytes) = nullptr;
    // Empties a client's memory, at the host's addresses. None: no client writes it.
    void (*format)(ObjectShape const& shape, ChannelTable const& at) = nullptr;
    // None: the newest value is counted.
    CountedRing (*ring)(ObjectShape const& shape, ChannelTable const& at) = nullptr;
};

[[nodiscard]] KindRow const& kind_row(ObjectKind kind);
[[nodiscard]] ObjectKind last_kind();  // the highest enumerator

}  // namespace carillon::detail
