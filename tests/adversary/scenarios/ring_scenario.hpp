// SPDX-License-Identifier: Apache-2.0
// One producer and one consumer. Checks all promises of a ring.
#pragma once

#include <algorithm>
#include <array>

#include "adversary/machine/seeds.hpp"
#include "carillon/detail/protocol/ring_protocol.hpp"
#include "support/ring_memory.hpp"

namespace carillon::test {
using namespace detail;

// Small, so that slots are used again and again, and often across the wrap of the tags.
struct RingShape {
    std::uint32_t capacity;
    Sequence first;

    static RingShape draw(Random& random) {
        std::uint32_t const capacity = 2U << random.below(3);
        return {capacity, random.one_in(2) ? 1 : (Sequence{1} << 32) - 1 - random.below(8)};
    }
};

// A ring in pairs of pages has pages of one, two or four slots; the page word is in the line after
// the credit. A ring has at most sixteen lines, so that there is room for words.
inline RingView draw_ring(Random& random, Line* slots, Line* credit, bool in_pairs = false,
                          std::uint32_t slot_lines = 1) {
    RingShape const shape = RingShape::draw(random);
    std::uint32_t const capacity = std::min(shape.capacity, 16 / slot_lines);
    RingView view{slots, &credit->quads[0].low, capacity, shape.first, slot_lines};
    if (in_pairs) view.pages = {&credit[1].quads[0].low, nullptr, random.below(3)};
    format_ring(view);
    return view;
}

// Looks at both pages, as NearestPage does, and takes either.
struct DrawnPage {
    static inline thread_local Random* random = nullptr;

    template <class Near>
    unsigned operator()(Near const& near, std::uint64_t* first, std::size_t stride,
                        std::uint64_t never) const {
        for (int i = 0; i != 2; ++i) {
            (void)near.compare_exchange(first, never, never);
            (void)near.compare_exchange(first + stride / sizeof(*first), never, never);
        }
        return random->below(2);
    }
};
using DrawnPages = ChosenPages<DrawnPage>;

// Far and Near are the producer's policies, the other two the consumer's.
template <class Far, class Near, class ConsumerNear, class ConsumerFar,
          class ProducerPages = FixedPages, class ConsumerPages = FixedPages, class Message = Whole>
class RingScenario {
   public:
    static constexpr bool in_pairs = ConsumerPages::paired;

    RingScenario(Policies const& policies, Side producer, Far far, Near near,
                 ConsumerNear consumer_near, ConsumerFar consumer_far, OutOfLine data)
        : machine_(policies.machine()),
          side_(producer),
          view_(producer == Side::host
                    ? draw_ring(machine_.random(), machine_.device_lines(), machine_.host_lines(),
                                in_pairs, slot_lines_of<Message>)
                    : draw_ring(machine_.random(), machine_.host_lines(), machine_.device_lines(),
                                in_pairs, slot_lines_of<Message>)),
          producer_(view_, far, near),
          consumer_(view_, consumer_near, consumer_far),
          data_(data),
          words_(policies, producer),
          count_(12 + machine_.random().below(13)) {
        DrawnPage::random = &machine_.random();
    }

    // Pushes some messages together, and takes them so.
    RingScenario& in_batches() {
        batches_ = true;
        return *this;
    }
    // Takes messages by looks at four at once. `branches`: the device loads a message's data when a
    // branch has found the message there; only the last message of a row has an acquire.
    RingScenario& in_rows(bool branches = true) {
        rows_ = true;
        branches_ = branches;
        return in_batches();
    }

    std::string run() {
        Machine::Body const produce = [this] { this->produce(); };
        Machine::Body const consume = [this] { this->consume(); };
        return side_ == Side::host ? machine_.run(produce, consume)
                                   : machine_.run(consume, produce);
    }

   private:
    void produce() {
        for (std::uint64_t i = 0; i != count_;) {
            while (producer_.was_full()) machine_.pause(side_);
            i += batches_ && machine_.random().one_in(2) ? push_batch(i) : push_one(i);
            if (i == count_ || machine_.random().one_in(4)) rest(i);
        }
        finished_ = true;
        while (!consumer_gone_) machine_.pause(side_);
        use_up_all_room();
    }

    std::uint64_t push_one(std::uint64_t i) {
        write_data(i);
        bool const pushed = producer_.try_push(Message::make(i), data_);
        machine_.require(pushed, "a ring with room refuses message {}", i);
        return 1;
    }

    // Sends as many messages as there is room for, at least one.
    std::uint64_t push_batch(std::uint64_t i) {
        std::array<Message, 6> batch{};
        std::uint64_t const most = std::min<std::uint64_t>(
            count_ - i, 1 + machine_.random().below(static_cast<std::uint32_t>(batch.size())));
        for (std::uint64_t n = 0; n != most; ++n) {
            batch[n] = Message::make(i + n);
            if (i + n >= written_) write_data(i + n);
        }
        written_ = std::max(written_, i + most);
        std::size_t const pushed = producer_.try_push_n(batch.data(), most, data_);
        machine_.require(pushed != 0 && pushed <= most, "{} of {} pushed", pushed, most);
        return pushed;
    }

    // Everything arrives, there and back, without any further store by the producer.
    void rest(std::uint64_t pushed) {
        Sequence const credit = view_.first - 1 + pushed;
        while (taken_ != pushed || machine_.arrived(view_.credit) != credit) machine_.pause(side_);
    }

    void use_up_all_room() {
        for (std::uint32_t i = 0; i != view_.capacity; ++i) {
            // The credit is there, but a load may see it late.
            while (!producer_.try_push(Message::make(i))) machine_.pause(side_);
        }
        for (int look = 0; look != 8; ++look) {
            machine_.require(producer_.was_full(), "more room than slots");
        }
    }

    void consume() {
        while (!finished_) {
            if (rows_) {
                take_row();
            } else {
                take_some();
            }
        }
        machine_.require(taken_ == count_, "{} messages and not {}", taken_, count_);
        consumer_gone_ = true;
    }

    void take_some() {
        std::array<Message, 3> messages{};
        std::size_t const wanted = batches_ ? 1 + machine_.random().below(3) : 1;
        std::size_t const got = batches_ ? consumer_.try_pop_n(messages.data(), wanted)
                                         : (consumer_.try_pop(messages[0]) ? 1 : 0);
        for (std::size_t i = 0; i != got; ++i) check(messages[i]);
    }

    void take_row() {
        if constexpr (lines_of<Message> == 1) {
            std::uint32_t const wanted = 1 + machine_.random().below(4);
            std::uint32_t next = 0;
            consumer_.choose_pages();
            std::uint32_t const got = consumer_.template try_consume_row<4>(
                wanted, [&](std::uint32_t i, Packed<Message> const& packed) {
                    machine_.require(i == next++, "message {} of a row after {}", i, next);
                    if (branches_) machine_.decide(consumer_.awaited() + i);
                    check(unpack<Message>(packed));
                });
            machine_.require(got == next && got <= wanted, "{} of {} taken", got, wanted);
            if (got == 0) take_some();  // as a block does, and only this returns the last credit
        }
    }

    void check(Message const& message) {
        machine_.require(message == Message::make(taken_), "message {} is wrong", taken_);
        check_data(taken_);
        ++taken_;
    }

    // Two words for each message, in different lines; none is used again, since a credit does not
    // say that data were read.
    void write_data(std::uint64_t i) {
        if (data_ == OutOfLine::none) return;
        words_.write(first_word(i), ~i);
        words_.write(second_word(i), i + 1);
    }

    void check_data(std::uint64_t i) {
        if (data_ == OutOfLine::none) return;
        std::uint64_t const second = words_.read(second_word(i));
        std::uint64_t const first = words_.read(first_word(i));
        machine_.require(first == ~i && second == i + 1, "message {} has other data: {}, {}", i,
                         ~first, second - 1);
    }

    static constexpr std::uint32_t first_word(std::uint64_t i) {
        return static_cast<std::uint32_t>(i);
    }
    static constexpr std::uint32_t second_word(std::uint64_t i) {
        return first_word(i) + OutOfLineWords::count / 2;
    }

    Machine& machine_;
    Side side_;  // the producer's
    RingView view_;
    Producer<Message, Far, Near, NoDoorbell, OneThread, ProducerPages> producer_;
    Consumer<Message, ConsumerNear, ConsumerFar, OneThread, ConsumerPages> consumer_;
    OutOfLine data_;
    OutOfLineWords words_;
    std::uint64_t count_;
    std::uint64_t written_ = 0;  // messages whose data are there
    bool batches_ = false;
    bool rows_ = false;
    bool branches_ = false;
    // Between the bodies, past the machine.
    std::uint64_t taken_ = 0;
    bool finished_ = false;
    bool consumer_gone_ = false;
};

inline std::string ring_to_device(Policies const& policies, OutOfLine data) {
    return RingScenario(policies, Side::host, policies.host_far(), policies.host_near(),
                        policies.device_near(), policies.device_far(), data)
        .run();
}

// The device chooses pages while the host writes.
template <class ProducerPages>
auto ring_in_pairs(Policies const& policies, OutOfLine data) {
    return RingScenario<Policies::HostFar, Policies::HostNear, Policies::DeviceNear,
                        Policies::DeviceFar, ProducerPages, DrawnPages>(
        policies, Side::host, policies.host_far(), policies.host_near(), policies.device_near(),
        policies.device_far(), data);
}

// To the device, of any messages.
template <class Message>
auto ring_of(Policies const& policies, OutOfLine data) {
    return RingScenario<Policies::HostFar, Policies::HostNear, Policies::DeviceNear,
                        Policies::DeviceFar, FixedPages, FixedPages, Message>(
        policies, Side::host, policies.host_far(), policies.host_near(), policies.device_near(),
        policies.device_far(), data);
}

// Messages of several lines, one by one or in batches.
template <class Message>
std::string long_ring_to_device(Policies const& policies) {
    auto ring = ring_of<Message>(policies, OutOfLine::written);
    return policies.machine().random().one_in(2) ? ring.in_batches().run() : ring.run();
}
template <class Message>
std::string long_ring_to_host(Policies const& policies) {
    RingScenario<Policies::DeviceFar, Policies::DeviceNear, Policies::HostNear, Policies::HostFar,
                 FixedPages, FixedPages, Message>
        ring(policies, Side::device, policies.device_far(), policies.device_near(),
             policies.host_near(), policies.host_far(), OutOfLine::written);
    return policies.machine().random().one_in(2) ? ring.in_batches().run() : ring.run();
}

inline std::string batches_to_device(Policies const& policies, OutOfLine data) {
    return RingScenario(policies, Side::host, policies.host_far(), policies.host_near(),
                        policies.device_near(), policies.device_far(), data)
        .in_batches()
        .run();
}

inline std::string batches_to_host(Policies const& policies) {
    return RingScenario(policies, Side::device, policies.device_far(), policies.device_near(),
                        policies.host_near(), policies.host_far(), OutOfLine::written)
        .in_batches()
        .run();
}

inline std::string ring_to_host(Policies const& policies, OutOfLine data) {
    return RingScenario(policies, Side::device, policies.device_far(), policies.device_near(),
                        policies.host_near(), policies.host_far(), data)
        .run();
}

}  // namespace carillon::test
