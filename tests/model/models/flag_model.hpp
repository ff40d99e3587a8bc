// SPDX-License-Identifier: Apache-2.0
// A flag, or a doorbell, with data that it stands for, as Relacy's threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "carillon/detail/protocol/flag_protocol.hpp"
#include "model/machine/machines.hpp"
#include "model/machine/relacy.hpp"

namespace carillon::test {

// The ends of a flag that is set to 1, 2, 3 and so on, and of a doorbell: the reader learns the
// latest number.
struct AsFlag {
    template <class Far>
    class Sender {
       public:
        Sender(Word* word, Far far) : flag_(word, far) {}
        void send(Word number) { flag_.set(number, OutOfLine::written); }

       private:
        FlagWriter<Word, Far> flag_;
    };
    template <class Near>
    class Receiver {
       public:
        Receiver(Word const* word, Near near) : flag_(word, near) {}
        [[nodiscard]] Word receive() { return flag_.get(); }

       private:
        FlagReader<Word, Near> flag_;
    };
};

struct AsDoorbell {
    template <class Far>
    class Sender {
       public:
        Sender(Word* word, Far far) : doorbell_(word, far) {}
        void send(Word /*number*/) { doorbell_.ring(OutOfLine::written); }

       private:
        DoorbellRinger<Far> doorbell_;
    };
    template <class Near>
    class Receiver {
       public:
        Receiver(Word const* word, Near near) : doorbell_(word, near) {}
        [[nodiscard]] Word receive() { return heard_ += doorbell_.heard(); }

       private:
        DoorbellListener<Near> doorbell_;
        Word heard_ = 0;
    };
};

template <class Ends, class Way>
class FlagModel : public rl::test_suite<FlagModel<Ends, Way>, 2> {
   public:
    static constexpr unsigned depth_limit = 1000;
    static constexpr Word last = 3;

    void before() { memory_.begin(0, 1); }

    void thread(unsigned index) { index == 0 ? send() : receive(); }

   private:
    using M = typename Way::Machine;
    using Far = typename Way::SenderFar;
    using Near = typename Way::ReceiverNear;

    void send() {
        typename Ends::template Sender<Far> sender(memory_.words(), M::template make<Far>(memory_));
        for (Word number = 1; number <= last; ++number) {
            data_.at(number - 1)(RL_INFO) = number;
            sender.send(number);
        }
    }

    void receive() {
        typename Ends::template Receiver<Near> receiver(memory_.words(),
                                                        M::template make<Near>(memory_));
        for (Word seen = 0; seen != last;) {
            Word const now = receiver.receive();
            RL_ASSERT(now >= seen && now <= last);
            if (now == seen) rl::yield(1, RL_INFO);
            for (; seen != now; ++seen) RL_ASSERT(data_.at(seen)(RL_INFO).load() == seen + 1);
        }
    }

    ModelMemory memory_{M::quad_is, M::quads};
    std::array<rl::var<Word>, last> data_;
};

}  // namespace carillon::test
