// SPDX-License-Identifier: Apache-2.0
// A mailbox with data that its values stand for, as Relacy's threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "carillon/detail/protocol/mailbox_protocol.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"

namespace carillon::test {
using namespace detail;

struct MailboxTraffic {
    std::uint32_t slots;
    Word values;  // how many are set
    // How often the reader looks; with no bound, until it has had the last value.
    std::uint32_t looks = 0;
    OutOfLine data = OutOfLine::none;
    Sequence first = 1;
};

// A value of `lines` lines. All quads of a line are equal, so two can stand for all; the lines
// differ in their numbers.
template <std::size_t lines>
struct LinesOf {
    std::uint32_t word[lines * mailbox_words_per_line];

    static LinesOf make(std::uint32_t number) {
        LinesOf value;
        std::fill(std::begin(value.word), std::end(value.word), number);
        return value;
    }
    bool operator==(LinesOf const&) const = default;
};

template <class Way, std::size_t lines, MailboxTraffic traffic>
class MailboxModel : public rl::test_suite<MailboxModel<Way, lines, traffic>, 2> {
   public:
    static constexpr unsigned depth_limit = 20000;
    // Over all executions of a search.
    inline static Word most_seen = 0;
    inline static bool skipped_some = false;

    void before() {
        format_mailbox(view_);
        memory_.begin(traffic.slots * lines, 1);
    }

    void thread(unsigned index) { index == 0 ? write() : read(); }

    void after() {
        most_seen = std::max(most_seen, seen_);
        skipped_some = skipped_some || news_ < seen_;
    }

   private:
    using M = typename Way::Machine;
    using Far = typename Way::SenderFar;
    using Near = typename Way::ReceiverNear;
    using Value = LinesOf<lines>;

    void write() {
        MailboxWriter<Value, Far> writer(view_, M::template make<Far>(memory_));
        for (Word number = 1; number <= traffic.values; ++number) {
            if (traffic.data == OutOfLine::written) data_.at(number - 1)(RL_INFO) = number;
            writer.set(Value::make(static_cast<std::uint32_t>(number)), traffic.data);
        }
    }

    void read() {
        MailboxReader<Value, Near> reader(view_, M::template make<Near>(memory_));
        constexpr bool endless = traffic.looks == 0;
        Value value = Value::make(0);
        for (std::uint32_t look = 0; seen_ != traffic.values && (endless || look != traffic.looks);
             ++look) {
            bool const news = reader.refresh(value);
            Word const number = value.word[0];
            RL_ASSERT(value == Value::make(value.word[0]));
            RL_ASSERT(news ? number > seen_ && number <= traffic.values : number == seen_);
            if (!news && endless) rl::yield(1, RL_INFO);
            if (news) ++news_;
            for (; seen_ != number; ++seen_) check_data(seen_ + 1);
        }
    }

    void check_data(Word number) {
        if (traffic.data == OutOfLine::none) return;
        RL_ASSERT(data_.at(number - 1)(RL_INFO).load() == number);
    }

    ModelMemory memory_{M::quad_is, M::quads};
    MailboxView view_{memory_.lines(), memory_.words(), traffic.slots, lines, traffic.first};
    std::array<rl::var<Word>, traffic.values> data_;
    // The model's own.
    Word seen_ = 0;
    Word news_ = 0;
};

}  // namespace carillon::test
