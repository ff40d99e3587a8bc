// SPDX-License-Identifier: Apache-2.0
// The protocol of Ring and of channels: one producer hands messages to one consumer through a ring
// of slots.
//
// Ownership in one sentence: a slot belongs to the producer until all tags of the message are in
// it, to the consumer until the credit word has reached that message's sequence number, and then to
// the producer again.
//
//     memory of the consumer's side              memory of the producer's side
//     +--------+--------+-- ... --+--------+     +--------------------------------+
//     | slot 0 | slot 1 |         | slot n |     | credit: last sequence taken    |
//     +--------+--------+-- ... --+--------+     +--------------------------------+
//       written far, polled near                   written far, polled near
//
// Message s lives in slot (s - 1) mod capacity, in one line or several. Neither side loads from far
// memory (invariant 1). An access policy accesses the memory (detail/access/access.hpp); this room
// has no fence, intrinsic or PTX. A thread or a warp has an end (detail/machine/group.hpp). Zeroed
// memory is an empty ring.
#pragma once

#include "carillon/detail/protocol/consumer.hpp"   // IWYU pragma: export
#include "carillon/detail/protocol/producer.hpp"   // IWYU pragma: export
#include "carillon/detail/protocol/ring_view.hpp"  // IWYU pragma: export
