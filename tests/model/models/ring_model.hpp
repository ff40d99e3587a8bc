// SPDX-License-Identifier: Apache-2.0
// RingTraffic with its ends as Relacy's threads.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"
#include "model/machine/search.hpp"
#include "model/machine/waiting.hpp"
#include "traffic/ring_traffic.hpp"

namespace carillon::test {
using namespace detail;

// All words have one number, so that a word of another message shows, and all quads are equal.
template <std::size_t words>
struct MessageOf {
    std::uint32_t word[words];

    static MessageOf make(std::uint64_t number) {
        MessageOf message{};
        std::fill(std::begin(message.word), std::end(message.word),
                  static_cast<std::uint32_t>(number));
        return message;
    }
    [[nodiscard]] std::uint64_t number() const { return word[0]; }
    bool operator==(MessageOf const&) const = default;
};
using Message = MessageOf<12>;

// A message of two lines. It fills one quad of the second line: that quad is the acquire.
using TwoLines = MessageOf<15>;
static_assert(quads_of<TwoLines> == quads_per_line + 1);
template <class Way>
struct InTwoLines : Way {
    using Message = TwoLines;
};
template <class Way>
struct MessageThrough {
    using Type = Message;
};
template <class Way>
requires requires { typename Way::Message; }
struct MessageThrough<Way> {
    using Type = typename Way::Message;
};

struct RingPlan {
    std::uint32_t capacity;
    std::uint32_t messages;
    // How often each side tries in all; with no bound, it goes on until it has had all messages.
    std::uint32_t tries = 0;
    OutOfLine data = OutOfLine::none;
    Sequence first = 1;
    std::uint32_t batch = 1;  // messages that are pushed at once, or as many as fit
    // So many messages are looked at at once. `branches`: their data are read when a branch has
    // found the messages, which orders the reads for all of them as an acquire would; only one load
    // is an acquire.
    std::uint32_t row = 0;
    bool branches = true;
};

// The device takes either page of each pair.
struct EitherPage {
    template <class Near>
    unsigned operator()(Near const& /*near*/, Word* /*first*/, std::size_t /*stride*/,
                        Word /*never*/) const {
        return rl::rand(2);
    }
};
using EitherPages = ChosenPages<EitherPage>;

// The memory and both ends.
template <class Way, RingPlan plan, class ProducerPages = FixedPages,
          class ConsumerPages = FixedPages>
class RingEnds : public ModelWorld<plan.tries> {
   public:
    static constexpr unsigned depth_limit = 10000;
    static constexpr std::uint32_t most_in_batch = plan.batch;
    static constexpr std::uint32_t most_in_row = plan.row;
    // Over all executions of a search.
    inline static std::uint64_t most_taken = 0;

    void before() {
        if (ConsumerPages::paired) view_.pages = {memory_.words() + 1, nullptr, 0};
        format_ring(view_);
        memory_.begin(view_.lines(), 2);
    }

    void after() { most_taken = std::max(most_taken, traffic_.taken()); }

    [[nodiscard]] static std::uint32_t draw_batch() { return plan.batch == 1 ? 0 : plan.batch; }
    [[nodiscard]] static std::uint32_t draw_pop() { return 0; }
    [[nodiscard]] static std::uint32_t draw_row() { return plan.row; }
    [[nodiscard]] static std::uint32_t most_in_hand() { return 0; }
    void write_data(std::uint64_t number) {
        data_.at(number - 1)(RL_INFO) = static_cast<std::uint32_t>(number);
    }
    void read_data(std::uint64_t number) {
        RL_ASSERT(data_.at(number - 1)(RL_INFO).load() == number);
    }
    static void branch(Line const* /*line*/) {
        if (plan.branches) rl::atomic_thread_fence(rl::mo_acquire, RL_INFO);
    }
    [[nodiscard]] bool takes_on(std::uint32_t tries) const {
        return !traffic_.all_taken() && this->goes_on(tries);
    }
    static void sent(bool any) { RingEnds::tried(any); }
    static void received(bool any) { RingEnds::tried(any); }

   protected:
    using M = typename Way::Machine;
    using Message = typename MessageThrough<Way>::Type;

    void produce() {
        using Far = typename Way::SenderFar;
        using Near = typename Way::SenderNear;
        Producer<Message, Far, Near, NoDoorbell, OneThread, ProducerPages> producer(
            view_, M::template make<Far>(memory_), M::template make<Near>(memory_));
        traffic_.produce(producer);
    }

    void consume() {
        using Near = typename Way::ReceiverNear;
        using Far = typename Way::ReceiverFar;
        Consumer<Message, Near, Far, OneThread, ConsumerPages> consumer(
            view_, M::template make<Near>(memory_), M::template make<Far>(memory_));
        traffic_.consume(consumer);
    }

    ModelMemory memory_{M::quad_is, M::quads};
    RingView view_{memory_.lines(), memory_.words(), plan.capacity, plan.first,
                   slot_lines_of<Message>};
    std::array<rl::var<std::uint32_t>, plan.messages> data_;
    RingTraffic<RingEnds, Message> traffic_{*this, view_, plan.messages, plan.data};
};

template <class Way, RingPlan plan, class... Pages>
class RingModel : public rl::test_suite<RingModel<Way, plan, Pages...>, 2>,
                  public RingEnds<Way, plan, Pages...> {
   public:
    using Ends = RingEnds<Way, plan, Pages...>;
    using Ends::before, Ends::after;

    void thread(unsigned index) { index == 0 ? this->produce() : this->consume(); }
};

// For exhaustive searches: three messages use every slot, and one again. With four tries, either
// side may once, anywhere, find the ring full or empty; every execution ends, so that only safety
// is checked. 4 024 364 executions where a line is two quads: 10 s of one core at -O2.
inline constexpr RingPlan few_tries{
    .capacity = 2, .messages = 3, .tries = 4, .data = OutOfLine::written};
// Nothing is released ahead of a line: 108 887 executions.
inline constexpr RingPlan without_data{.capacity = 2, .messages = 3, .tries = 3};
// With endless tries a message that never comes is a livelock.
inline constexpr RingPlan endless{.capacity = 2, .messages = 4, .data = OutOfLine::written};
// For random searches. The tags wrap on the way.
inline constexpr Sequence before_the_wrap = (Sequence{1} << 32) - 3;
inline constexpr RingPlan four_slots{.capacity = 4, .messages = 6, .first = before_the_wrap};
// From eight slots on, credits are returned two and more at a time.
inline constexpr RingPlan eight_slots{
    .capacity = 8, .messages = 12, .data = OutOfLine::written, .first = before_the_wrap};

// Two at once each way.
inline constexpr RingPlan few_at_once{
    .capacity = 2, .messages = 2, .tries = 2, .data = OutOfLine::written, .batch = 2, .row = 2};
inline constexpr RingPlan two_at_once{
    .capacity = 2, .messages = 3, .data = OutOfLine::written, .batch = 2, .row = 2};
// A row of three is more than a batch, so that it is often not all there.
inline constexpr RingPlan rows{.capacity = 4,
                               .messages = 7,
                               .data = OutOfLine::written,
                               .first = before_the_wrap,
                               .batch = 2,
                               .row = 3};
inline constexpr RingPlan rows_without_branches{
    .capacity = 4, .messages = 6, .data = OutOfLine::written, .row = 2, .branches = false};
// Messages of several lines: in two slots that are used again, each at once and one after the
// other.
inline constexpr RingPlan few_long{
    .capacity = 2, .messages = 3, .tries = 3, .data = OutOfLine::written};
inline constexpr RingPlan long_batches{
    .capacity = 4, .messages = 7, .data = OutOfLine::written, .first = before_the_wrap, .batch = 3};
// Credits are returned by the two.
inline constexpr RingPlan batches_of_credit{.capacity = 8, .messages = 9, .batch = 4};

// Pairs of pages of one slot: the search covers which pages are chosen, and when.
inline constexpr RingPlan few_in_pairs{
    .capacity = 2, .messages = 2, .tries = 3, .data = OutOfLine::written};

inline constexpr RingPlan batch_in_pairs{
    .capacity = 2, .messages = 2, .tries = 2, .data = OutOfLine::written, .batch = 2};

template <class Way, RingPlan plan, class... Pages>
void expect_success(Search const& search) {
    using Model = RingModel<Way, plan, Pages...>;
    Model::most_taken = 0;
    EXPECT_EQ(outcome<Model>(search), "SUCCESS");
    EXPECT_EQ(Model::most_taken, plan.messages);  // or nothing was checked
}

}  // namespace carillon::test
