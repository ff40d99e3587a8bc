// SPDX-License-Identifier: Apache-2.0
// A ring whose end on the device is a warp. Checks all promises of a ring for every lane.
#pragma once

#include <algorithm>
#include <vector>

#include "adversary/machine/fiber_lanes.hpp"
#include "adversary/scenarios/ring_scenario.hpp"

namespace carillon::test {
using namespace detail;

class LanesScenario {
   public:
    LanesScenario(Policies const& policies, Side producer, OutOfLine data)
        : policies_(policies),
          machine_(policies.machine()),
          view_(producer == Side::host
                    ? draw_ring(machine_.random(), machine_.device_lines(), machine_.host_lines())
                    : draw_ring(machine_.random(), machine_.host_lines(), machine_.device_lines())),
          votes_(machine_, 2 + machine_.random().below(LaneVotes::most - 1)),
          data_(data),
          words_(policies, producer),
          count_(8 + machine_.random().below(9)),
          taken_(votes_.lanes()) {}

    std::string to_device() {
        return run([this] { produce_alone(); }, [this](FiberLanes lane) { consume(lane); });
    }
    std::string to_host() {
        return run([this] { consume_alone(); }, [this](FiberLanes lane) { produce(lane); });
    }

   private:
    template <class Host, class Lane>
    std::string run(Host const& host, Lane const& lane) {
        std::vector<Machine::Thread> threads{{Side::host, host}};
        for (unsigned i = 0; i != votes_.lanes(); ++i) {
            threads.push_back({Side::device, [&, i] { lane(FiberLanes(votes_, i)); }});
        }
        return machine_.run(std::move(threads));
    }

    // Now and then until everything has arrived, there and back, without any further store.
    void produce_alone() {
        Producer<Whole, Policies::HostFar, Policies::HostNear> producer(view_, policies_.host_far(),
                                                                        policies_.host_near());
        for (std::uint64_t i = 0; i != count_; ++i) {
            while (producer.was_full()) machine_.pause(Side::host);
            write_data(i);
            machine_.require(producer.try_push(Whole::make(i), data_), "no room for {}", i);
            Sequence const credit = view_.first + i;
            bool const rests = i + 1 == count_ || machine_.random().one_in(4);
            while (rests && machine_.arrived(view_.credit) != credit) machine_.pause(Side::host);
        }
        finished_ = true;
    }

    void consume(FiberLanes lane) {
        Consumer<Whole, Policies::DeviceNear, Policies::DeviceFar, FiberLanes> consumer(
            view_, policies_.device_near(), policies_.device_far(), lane);
        std::uint64_t& taken = taken_[lane.thread_rank()];
        while (lane.any(!finished_)) {
            Whole message{};
            if (!consumer.try_pop(message)) continue;
            check(message, taken++);
        }
        machine_.require(taken == count_, "lane {}: {} messages", lane.thread_rank(), taken);
    }

    // Lines of quads by all lanes, and messages with data by the first one.
    void produce(FiberLanes lane) {
        Producer<Whole, Policies::DeviceFar, Policies::DeviceNear, NoDoorbell, FiberLanes> producer(
            view_, policies_.device_far(), policies_.device_near(), NoDoorbell(), lane);
        for (std::uint64_t i = 0; i != count_;) {
            std::uint64_t const drawn = machine_.random().below(4);
            auto const most = std::min<std::uint64_t>(count_ - i, view_.capacity);
            auto const lines = static_cast<std::uint32_t>(
                std::min(data_ == OutOfLine::written ? 0 : lane.broadcast(drawn), most));
            bool const leads = lane.thread_rank() == 0;
            if (lines == 0 && leads) write_data(i);
            auto const words_of = [&](std::size_t quad) { return QuadWords::make(i, quad); };
            while (!(lines == 0 ? producer.try_push(Whole::make(i), data_)
                                : producer.try_push_quads(lines, words_of))) {
                machine_.pause(Side::device);
            }
            i += lines == 0 ? 1 : lines;
            if (!lane.any(leads && machine_.random().one_in(4))) continue;
            while (lane.any(taken_[0] != i)) machine_.pause(Side::device);
        }
        finished_ = true;
    }

    void consume_alone() {
        Consumer<Whole, Policies::HostNear, Policies::HostFar> consumer(
            view_, policies_.host_near(), policies_.host_far());
        while (taken_[0] != count_) {
            Whole message{};
            if (consumer.try_pop(message)) check(message, taken_[0]++);
        }
        consumer.return_held();
    }

    // Two words for each message, in different lines; none is used again.
    void write_data(std::uint64_t i) {
        if (data_ == OutOfLine::none) return;
        words_.write(static_cast<std::uint32_t>(i), ~i);
        words_.write(second_word(i), i + 1);
    }

    void check(Whole const& message, std::uint64_t i) {
        machine_.require(message == Whole::make(i), "message {} is wrong", i);
        if (data_ == OutOfLine::none) return;
        std::uint64_t const second = words_.read(second_word(i));
        std::uint64_t const first = words_.read(static_cast<std::uint32_t>(i));
        machine_.require(first == ~i && second == i + 1, "message {} has other data", i);
    }

    static constexpr std::uint32_t second_word(std::uint64_t i) {
        return static_cast<std::uint32_t>(i) + OutOfLineWords::count / 2;
    }

    Policies const& policies_;
    Machine& machine_;
    RingView view_;
    LaneVotes votes_;
    OutOfLine data_;
    OutOfLineWords words_;
    std::uint64_t count_;
    // Between the bodies, past the machine.
    std::vector<std::uint64_t> taken_;  // by every lane, or by the host
    bool finished_ = false;
};

}  // namespace carillon::test
