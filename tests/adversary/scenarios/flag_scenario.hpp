// SPDX-License-Identifier: Apache-2.0
// One writer and one reader of a flag, or of a doorbell, which is a flag that counts.
#pragma once

#include "adversary/machine/seeds.hpp"
#include "carillon/detail/protocol/flag_protocol.hpp"

namespace carillon::test {
using namespace detail;

// `announce()` increments the value, `latest()` returns the value that the reader knows.
template <class Announce, class Latest>
class CountScenario {
   public:
    CountScenario(Policies const& policies, Side writer, Announce announce, Latest latest,
                  OutOfLine data)
        : machine_(policies.machine()),
          side_(writer),
          announce_(announce),
          latest_(latest),
          data_(data),
          words_(policies, writer) {}

    std::string run() {
        Machine::Body const write = [this] { this->write(); };
        Machine::Body const read = [this] { this->read(); };
        return side_ == Side::host ? machine_.run(write, read) : machine_.run(read, write);
    }

   private:
    static constexpr std::uint32_t second_word = 9;  // in another line than word 0

    void write() {
        std::uint64_t const last = 12 + machine_.random().below(13);
        while (written_ != last) {
            ++written_;
            if (data_ == OutOfLine::written) {
                words_.write(0, written_);
                words_.write(second_word, written_);
            }
            announce_();
            // The value arrives without any further store by the writer.
            if (written_ != last && !machine_.random().one_in(4)) continue;
            while (read_ != written_) machine_.pause(side_);
        }
        finished_ = true;
    }

    void read() {
        while (!finished_) {
            std::uint64_t const value = latest_();
            machine_.require(value >= read_, "{} after {}", value, read_);
            machine_.require(value <= written_, "{}, never written", value);
            check_data(value);
            read_ = value;
        }
    }

    // The words may be newer than the value that announced them, never older.
    void check_data(std::uint64_t value) {
        if (data_ == OutOfLine::none) return;
        std::uint64_t const second = words_.read(second_word);
        std::uint64_t const first = words_.read(0);
        machine_.require(first >= value && second >= value, "{} with the data of {} and {}", value,
                         first, second);
    }

    Machine& machine_;
    Side side_;  // the writer's
    Announce announce_;
    Latest latest_;
    OutOfLine data_;
    OutOfLineWords words_;
    // Between the bodies, past the machine.
    std::uint64_t written_ = 0;
    std::uint64_t read_ = 0;
    bool finished_ = false;
};

template <class Far, class Near>
std::string flag(Policies const& policies, Side writer, Far far, Near near, OutOfLine data) {
    Line* const lines =
        writer == Side::host ? policies.machine().device_lines() : policies.machine().host_lines();
    FlagWriter<std::uint64_t, Far> out(&lines->quads[0].low, far);
    FlagReader<std::uint64_t, Near> in(&lines->quads[0].low, near);
    std::uint64_t value = 0;
    auto const announce = [&] { out.set(++value, data); };
    auto const latest = [&] { return in.get(); };
    return CountScenario(policies, writer, announce, latest, data).run();
}

template <class Far, class Near>
std::string doorbell(Policies const& policies, Side writer, Far far, Near near, OutOfLine data) {
    Line* const lines =
        writer == Side::host ? policies.machine().device_lines() : policies.machine().host_lines();
    DoorbellRinger<Far> ringer(&lines->quads[0].low, far);
    DoorbellListener<Near> listener(&lines->quads[0].low, near);
    std::uint64_t heard = 0;
    auto const announce = [&] { ringer.ring(data); };
    auto const latest = [&] { return heard += listener.heard(); };
    return CountScenario(policies, writer, announce, latest, data).run();
}

}  // namespace carillon::test
