// SPDX-License-Identifier: Apache-2.0
// RingTraffic on the adversary's machine, with all promises of a ring checked.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "adversary/machine/adversary_world.hpp"
#include "adversary/machine/seeds.hpp"
#include "support/ring_memory.hpp"
#include "traffic/ring_traffic.hpp"

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
class RingScenario : public AdversaryWorld {
   public:
    static constexpr bool in_pairs = ConsumerPages::paired;
    static constexpr std::uint32_t most_in_batch = 6;
    static constexpr std::uint32_t most_in_row = lines_of<Message> == 1 ? 4 : 0;

    RingScenario(Policies const& policies, Side producer, Far far, Near near,
                 ConsumerNear consumer_near, ConsumerFar consumer_far, OutOfLine data)
        : AdversaryWorld(policies),
          side_(producer),
          view_(producer == Side::host
                    ? draw_ring(machine_.random(), machine_.device_lines(), machine_.host_lines(),
                                in_pairs, slot_lines_of<Message>)
                    : draw_ring(machine_.random(), machine_.host_lines(), machine_.device_lines(),
                                in_pairs, slot_lines_of<Message>)),
          producer_(view_, far, near),
          consumer_(view_, consumer_near, consumer_far),
          words_(policies, producer),
          traffic_(*this, view_, 12 + machine_.random().below(13), data) {
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

    [[nodiscard]] std::uint32_t draw_batch() const {
        bool const batch = batches_ && machine_.random().one_in(2);
        return batch ? 1 + machine_.random().below(most_in_batch) : 0;
    }
    [[nodiscard]] std::uint32_t draw_pop() const {
        return batches_ ? 1 + machine_.random().below(most_popped) : 0;
    }
    [[nodiscard]] std::uint32_t draw_row() const {
        return rows_ ? 1 + machine_.random().below(most_in_row) : 0;
    }
    [[nodiscard]] std::uint32_t most_in_hand() const { return rows_ ? most_in_row : most_popped; }
    // Two words for each message, in different lines; none is used again, since a credit does not
    // say that data were read.
    void write_data(std::uint64_t number) const {
        words_.write(first_word(number), ~number);
        words_.write(second_word(number), number);
    }
    void read_data(std::uint64_t number) const {
        std::uint64_t const second = words_.read(second_word(number));
        std::uint64_t const first = words_.read(first_word(number));
        require(first == ~number && second == number, "message {} has other data: {}, {}", number,
                ~first, second);
    }
    void branch(Line const* line) const {
        if (branches_) machine_.decide(line);
    }
    [[nodiscard]] static bool goes_on(std::uint32_t /*tries*/) { return true; }
    [[nodiscard]] bool takes_on(std::uint32_t /*tries*/) const { return !finished_; }
    void sent(bool any) const {
        if (!any) return machine_.pause(side_);
        if (traffic_.all_pushed() || machine_.random().one_in(4)) rest();
    }
    static void received(bool /*any*/) {}

   private:
    static constexpr std::uint32_t most_popped = 3;

    void produce() {
        traffic_.produce(producer_);
        finished_ = true;
        while (!consumer_gone_) machine_.pause(side_);
        use_up_all_room();
    }

    // Everything arrives, there and back, without any further store by the producer.
    void rest() const {
        std::uint64_t const pushed = traffic_.pushed();
        Sequence const credit = view_.first - 1 + pushed;
        while (traffic_.taken() != pushed || machine_.arrived(view_.credit) != credit) {
            machine_.pause(side_);
        }
    }

    void use_up_all_room() {
        for (std::uint32_t i = 0; i != view_.capacity; ++i) {
            // The credit is there, but a load may see it late.
            while (!producer_.try_push(Message::make(i))) machine_.pause(side_);
        }
        for (int look = 0; look != 8; ++look) {
            require(producer_.was_full(), "more room than slots");
        }
    }

    void consume() {
        traffic_.consume(consumer_);
        require(traffic_.all_taken(), "only {} messages", traffic_.taken());
        consumer_gone_ = true;
    }

    static constexpr std::uint32_t first_word(std::uint64_t number) {
        return static_cast<std::uint32_t>(number);
    }
    static constexpr std::uint32_t second_word(std::uint64_t number) {
        return first_word(number) + OutOfLineWords::count / 2;
    }

    Side side_;  // the producer's
    RingView view_;
    Producer<Message, Far, Near, NoDoorbell, OneThread, ProducerPages> producer_;
    Consumer<Message, ConsumerNear, ConsumerFar, OneThread, ConsumerPages> consumer_;
    OutOfLineWords words_;
    RingTraffic<RingScenario, Message> traffic_;
    bool batches_ = false;
    bool rows_ = false;
    bool branches_ = false;
    // Between the bodies, past the machine.
    bool finished_ = false;
    bool consumer_gone_ = false;
};

// Rings of any messages. The device chooses pages, if any, while the host writes.
template <class Message = Whole, class ProducerPages = FixedPages, class ConsumerPages = FixedPages>
auto ring_to_device(Policies const& policies, OutOfLine data) {
    return RingScenario<Policies::HostFar, Policies::HostNear, Policies::DeviceNear,
                        Policies::DeviceFar, ProducerPages, ConsumerPages, Message>(
        policies, Side::host, policies.host_far(), policies.host_near(), policies.device_near(),
        policies.device_far(), data);
}
template <class ProducerPages = ToldPages>
auto ring_in_pairs(Policies const& policies, OutOfLine data) {
    return ring_to_device<Whole, ProducerPages, DrawnPages>(policies, data);
}
template <class Message = Whole>
auto ring_to_host(Policies const& policies, OutOfLine data) {
    return RingScenario<Policies::DeviceFar, Policies::DeviceNear, Policies::HostNear,
                        Policies::HostFar, FixedPages, FixedPages, Message>(
        policies, Side::device, policies.device_far(), policies.device_near(), policies.host_near(),
        policies.host_far(), data);
}

// Messages of several lines, one by one or in batches.
template <class Message>
std::string long_ring_to_device(Policies const& policies) {
    auto ring = ring_to_device<Message>(policies, OutOfLine::written);
    return policies.machine().random().one_in(2) ? ring.in_batches().run() : ring.run();
}
template <class Message>
std::string long_ring_to_host(Policies const& policies) {
    auto ring = ring_to_host<Message>(policies, OutOfLine::written);
    return policies.machine().random().one_in(2) ? ring.in_batches().run() : ring.run();
}

}  // namespace carillon::test
