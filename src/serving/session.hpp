// SPDX-License-Identifier: Apache-2.0
// What a server's thread knows of one client: who it is, what it was lent, and what it waits for.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "serving/buffer_table.hpp"
#include "serving/client_messages.hpp"
#include "serving/reception.hpp"
#include "serving/served.hpp"

namespace carillon::detail {

// A place of an object that a client has.
struct HeldPlace {
    ServedItem* object;
    unsigned place;
    std::chrono::steady_clock::time_point since;
};

// A client waits for a place of an object.
struct AwaitedPlace {
    std::uint32_t id;  // of its question
    ServedItem* object;
    bool host_memory;
    std::chrono::steady_clock::time_point since;
};

// A buffer that a client holds, and has not asked for.
struct UnaskedBuffer {
    std::uint64_t number;  // from 1 on, in the order in which they were lent
    std::uint64_t memory;
    bool descriptor;  // see LentBuffer
};

struct Session : Visitor {
    // A constructor, since where a member of an aggregate throws, GCC 12 destroys the base twice.
    explicit Session(UnixSocket connected) : Visitor{std::move(connected)} {}

    std::map<std::uint32_t, HeldPlace> leases{};
    std::deque<AwaitedPlace> asks{};
    bool hears_states = false;  // of objects: it has asked for one, so a thread of its reads

    BufferUser who{};  // for the table of buffers
    bool uses_buffers = false;
    unsigned holds = 0;  // buffers
    SealedNews news = SealedNews::none;
    std::uint64_t next_sealed = 0;  // the number of the next buffer that it is to hear of
    std::uint64_t missed = 0;       // buffers that it has not heard of
    std::uint64_t lent_unasked = 0;
    std::map<std::uint64_t, UnaskedBuffer> unasked{};  // by the number of the buffer
    bool waits_for_room = false;  // news wait until it reads, or a descriptor is free
};
using Sessions = std::vector<std::unique_ptr<Session>>;

}  // namespace carillon::detail
