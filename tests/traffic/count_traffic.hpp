// SPDX-License-Identifier: Apache-2.0
// What a flag, a doorbell or a mailbox carries, in every world: the numbers 1, 2, 3 and so on, each
// with data. A reader learns the latest: it never goes back, its data are there, the last arrives.
#pragma once

#include <cstdint>

#include "carillon/detail/protocol/flag_protocol.hpp"
#include "carillon/detail/protocol/mailbox_protocol.hpp"

namespace carillon::test {
using namespace detail;

// The ends of a flag.
struct AsFlag {
    using Place = std::uint64_t*;
    template <class Far>
    class Sender {
       public:
        Sender(Place word, Far far, OutOfLine data) : flag_(word, far), data_(data) {}
        void send(std::uint64_t number) { flag_.set(number, data_); }

       private:
        FlagWriter<std::uint64_t, Far> flag_;
        OutOfLine data_;
    };
    template <class Near>
    class Receiver {
       public:
        Receiver(Place word, Near near) : flag_(word, near) {}
        template <class World>
        [[nodiscard]] std::uint64_t receive(World const& /*world*/) {
            return flag_.get();
        }

       private:
        FlagReader<std::uint64_t, Near> flag_;
    };
};

// The ends of a doorbell, which is a flag that counts.
struct AsDoorbell {
    using Place = std::uint64_t*;
    template <class Far>
    class Sender {
       public:
        Sender(Place word, Far far, OutOfLine data) : doorbell_(word, far), data_(data) {}
        void send(std::uint64_t /*number*/) { doorbell_.ring(data_); }

       private:
        DoorbellRinger<Far> doorbell_;
        OutOfLine data_;
    };
    template <class Near>
    class Receiver {
       public:
        Receiver(Place word, Near near) : doorbell_(word, near) {}
        template <class World>
        [[nodiscard]] std::uint64_t receive(World const& /*world*/) {
            return heard_ += doorbell_.heard();
        }

       private:
        DoorbellListener<Near> doorbell_;
        std::uint64_t heard_ = 0;
    };
};

// The ends of a mailbox. Value: shows its number() and whether it is whole().
template <class Value>
struct AsMailbox {
    using Place = MailboxView;
    static constexpr std::uint32_t lines = mailbox_lines<Value>;
    template <class Far>
    class Sender {
       public:
        Sender(Place const& view, Far far, OutOfLine data) : mailbox_(view, far), data_(data) {}
        void send(std::uint64_t number) { mailbox_.set(Value::make(number), data_); }

       private:
        MailboxWriter<Value, Far> mailbox_;
        OutOfLine data_;
    };
    template <class Near>
    class Receiver {
       public:
        Receiver(Place const& view, Near near) : mailbox_(view, near) {}
        template <class World>
        [[nodiscard]] std::uint64_t receive(World const& world) {
            std::uint64_t const before = value_.number();
            bool const news = mailbox_.refresh(value_);
            std::uint64_t const now = value_.number();
            world.require(value_.whole(), "{} is mixed with another value", now);
            world.require(news == (now != before), "{} after {}: news is {}", now, before, news);
            return now;
        }

       private:
        MailboxReader<Value, Near> mailbox_;
        Value value_ = Value::make(0);
    };
};

// A world says what the protocol leaves open:
//   write_data(number), check_data(before, now)  the data of a number; of all that are new
//   announced()  one number more is sent
//   takes_on(looks), received(any)  whether the reader looks again; it has looked
template <class World>
class CountTraffic {
   public:
    CountTraffic(World& world, std::uint64_t last) : world_(world), last_(last) {}

    template <class Sender>
    void write(Sender& sender) {
        while (written_ != last_) {
            world_.write_data(++written_);
            sender.send(written_);
            world_.announced();
        }
    }

    template <class Receiver>
    void read(Receiver& receiver) {
        for (std::uint32_t looks = 0; world_.takes_on(looks); ++looks) {
            std::uint64_t const now = receiver.receive(world_);
            world_.require(now >= read_, "{} after {}", now, read_);
            world_.require(now <= written_, "{}, never written", now);
            world_.check_data(read_, now);
            bool const any = now != read_;
            if (any) ++news_;
            read_ = now;
            world_.received(any);
        }
    }

    [[nodiscard]] bool all_written() const { return written_ == last_; }
    // The reader has the last number that was written.
    [[nodiscard]] bool up_to_date() const { return read_ == written_; }
    [[nodiscard]] std::uint64_t read() const { return read_; }
    // Whether the reader has missed any number.
    [[nodiscard]] bool skipped() const { return news_ < read_; }

   private:
    World& world_;
    std::uint64_t last_;
    // Both ends know these, past the world's memory.
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
    std::uint64_t news_ = 0;  // looks that found a number
};

}  // namespace carillon::test
