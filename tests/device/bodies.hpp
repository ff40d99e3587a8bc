// SPDX-License-Identifier: Apache-2.0
// Kernel bodies and handlers that several test files use. All of them end by themselves.
#pragma once

#include <cstdint>

#include "carillon/detail/protocol/endpoints.hpp"

namespace carillon::test {
using namespace detail;

// How long a body waits: a host that has failed its test is not waited for.
class BodyPatience {
   public:
    // Spends a poll; false when it is time to give up.
    CARILLON_HD bool more() {
        clock_.idle(++polls_);
        if ((polls_ & 0xff) != 0) return true;
        std::uint64_t const now = clock_.now_ns();
        if (began_ == 0) began_ = now;
        return now - began_ < 20'000'000'000U;
    }

   private:
    DeviceClock clock_;
    std::uint32_t polls_ = 0;
    std::uint64_t began_ = 0;
};

// Waits until the host has opened the gate as far as `until`.
CARILLON_HD inline void wait_at(std::uint64_t const* gate, std::uint64_t until) {
    DeviceNear const near;
    BodyPatience patience;
    while (near.load_word(gate) < until && patience.more()) {
    }
}

struct Message {
    std::uint64_t number;
    std::uint64_t check[4];

    CARILLON_HD static Message make(std::uint64_t number) {
        Message message{number, {}};
        for (std::uint64_t& word : message.check) word = ++number * 0x9e3779b97f4a7c15U;
        return message;
    }
    CARILLON_HD bool whole() const {
        Message const right = make(number);
        for (int i = 0; i < 4; ++i) {
            if (check[i] != right.check[i]) return false;
        }
        return true;
    }
};

template <class End, class T>
CARILLON_HD bool push_patiently(End& end, T const& message, OutOfLine data = OutOfLine::none) {
    BodyPatience patience;
    while (!end.try_push(message, data)) {
        if (!patience.more()) return false;
    }
    return true;
}

template <class End, class T>
CARILLON_HD bool pop_patiently(End& end, T& message) {
    BodyPatience patience;
    while (!end.try_pop(message)) {
        if (!patience.more()) return false;
    }
    return true;
}

// Echoes its messages; a damaged message comes back as number 0.
struct EchoBody {
    DeviceConsumer<Message> in;
    DeviceProducer<Message> out;
    std::uint32_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        for (std::uint32_t i = 0; i < count; ++i) {
            Message message{};
            if (!pop_patiently(in, message)) return;
            if (!push_patiently(out, Message::make(message.whole() ? message.number : 0))) return;
        }
    }
};

struct GatedRequest {
    std::uint64_t value;
    std::uint64_t gate;  // answered once the gate is open as far as this
};

struct CountedReply {
    std::uint64_t value;   // 3 * request + 1
    std::uint64_t served;  // how many this block has answered, this one included
};

// Answers when the host has opened the gate, so that a test decides which replies are late.
struct GatedHandler {
    std::uint64_t const* gate = nullptr;
    std::uint64_t* entered = nullptr;  // a word in host memory, or none: 1 once one waits
    std::uint64_t served = 0;

    CARILLON_HD CountedReply operator()(GatedRequest const& request) {
        if (request.gate != 0 && entered != nullptr) DeviceFar().store_word(entered, 1);
        if (request.gate != 0) wait_at(gate, request.gate);
        return {3 * request.value + 1, ++served};
    }
};

}  // namespace carillon::test
