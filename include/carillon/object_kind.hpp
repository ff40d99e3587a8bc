// SPDX-License-Identifier: Apache-2.0
// `ObjectKind`, the kinds of objects that a `Server` serves and Connection::status() lists.
#pragma once

#include <cstdint>
#include <string_view>

#include "carillon/detail/wire/language.hpp"

namespace carillon {

// The objects that an owner can serve by a name (docs/dev/protocol.md).
enum class ObjectKind : std::uint8_t {
    kernel,          // a kernel with SharedChannels or a SharedPool
    mailbox,         // a SharedMailbox
    ring_to_device,  // a SharedRing
    ring_to_host,
    chunk_ring,       // a SharedChunkRing
    mailbox_to_host,  // a SharedMailbox from the device, which clients read
    log,              // a LogService, whose messages clients read
};
[[nodiscard]] std::string_view to_string(ObjectKind kind);  // its name, such as "chunk ring"

}  // namespace carillon
