// SPDX-License-Identifier: Apache-2.0
// One event of an order book: a market-by-order record of DBN (Databento Binary Encoding), byte for
// byte as a file has it. A kernel takes it as a message as it is.
#pragma once

#include <cstdint>
#include <type_traits>

namespace dbn {

// The action on an order. The values are DBN's letters.
enum class Action : char {
    add = 'A',
    cancel = 'C',
    modify = 'M',
    trade = 'T',
    fill = 'F',
    clear = 'R',
    none = 'N',  // nothing changes in the book
};

// A record has no padding.
struct MboRecord {
    std::uint8_t length;  // of the record, in units of 4 bytes
    std::uint8_t type;
    std::uint16_t publisher;
    std::uint32_t instrument;
    std::uint64_t ts_event;  // ns since 1970
    std::uint64_t order_id;
    std::int64_t price;  // 1e-9
    std::uint32_t size;
    std::uint8_t flags;
    std::uint8_t channel;
    Action action;
    char side;              // A ask, B bid, N none
    std::uint64_t ts_recv;  // ns since 1970
    std::int32_t ts_in_delta;
    std::uint32_t sequence;
};
static_assert(sizeof(MboRecord) == 56);
static_assert(std::has_unique_object_representations_v<MboRecord>);

}  // namespace dbn
