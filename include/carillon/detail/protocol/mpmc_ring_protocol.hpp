// SPDX-License-Identifier: Apache-2.0
// The protocol of MpmcRing: producers claim sequence numbers and write their lines, consumers claim
// stripes of sequence numbers and poll their slots. The order of claims is the ring's order.
//
// Lines, tags and slots are those of detail/protocol/ring_protocol.hpp. A stripe is a row of slots
// that one consumer takes. Its credit returns as one word, so that no consumer needs to know what
// the others have taken. Ownership: a slot belongs to the thread that claimed its sequence number
// until the line's tags are in it; then to the consumer that claimed the stripe until the stripe's
// credit word has reached the stripe's last sequence number; and then to the next claim.
//
//     memory of the consumers' side                memory of the producers' side
//     +--------+-- ... --+--------+                +---------------------------------+
//     | slot 0 |         | slot n |                | claimed: last sequence claimed  |
//     +--------+-- ... --+--------+                +---------------------------------+
//     | given up: a word a slot   |                | credits: a word a stripe        |
//     +---------------------------+                +---------------------------------+
//     | taken: last one claimed   |                | records: each claim in progress |
//     +---------------------------+                +---------------------------------+
//     | left: by consumers that   |
//     | have ended                |
//     +---------------------------+
//
// A producer that dies between its claim and its line would stop the ring. Recovery gives up, in
// `given_up`, the numbers that no living producer holds (give_up_claims). A consumer that has
// waited for a line for a while looks there, looks at the line once more, and skips it.
#pragma once

#include "carillon/detail/protocol/mpmc_consumer.hpp"   // IWYU pragma: export
#include "carillon/detail/protocol/mpmc_producer.hpp"   // IWYU pragma: export
#include "carillon/detail/protocol/mpmc_ring_view.hpp"  // IWYU pragma: export
#include "carillon/detail/protocol/ring_view.hpp"       // IWYU pragma: export
