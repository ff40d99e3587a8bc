// SPDX-License-Identifier: Apache-2.0
#include "adversary/machine.hpp"

#include <algorithm>
#include <stdexcept>

namespace carillon::test {
namespace {

// Some hundred times what a run needs that makes progress.
constexpr std::uint32_t step_limit = 1U << 19;
constexpr std::uint32_t longest_stall = 400;

template <std::size_t size>
std::uint32_t any_of(Random& random, std::array<std::uint32_t, size> const& values) {
    return values[random.below(size)];
}

}  // namespace

void Machine::reset(Bus const& bus, std::uint64_t seed, bool traced) {
    bus_ = bus;
    random_ = Random(seed);
    traced_ = traced;
    lines_.fill(Line{});
    draw_chances();
    // A bus that keeps all order is one of those that need not.
    posted(Side::host).reset(random_.one_in(4), bus.fences_order);
    posted(Side::device).reset(random_.one_in(4), true);
    buffers_.reset();
    horizon_ = {};
    steps_ = 0;
    stalled_until_ = {};
    ending_ = false;
    failure_.clear();
    trace_.reset();
}

void Machine::draw_chances() {
    for (std::uint32_t& deliver : chances_.deliver) deliver = any_of<4>(random_, {0, 1, 3, 15});
    chances_.ever_evict = !random_.one_in(4);
    chances_.evict = any_of<3>(random_, {1, 7, 31});
    chances_.change_sides = any_of<4>(random_, {0, 1, 3, 15});
    chances_.stall = any_of<3>(random_, {127, 511, 4095});
    chances_.look_back = random_.one_in(2);
}

std::string Machine::run(Body const& host, Body const& device) {
    cells_.reset(lines_.data());
    if (!bus_.coherent()) copy_.reset(cells_);
    start(host, Side::host);
    start(device, Side::device);
    Side side = random_.one_in(2) ? Side::host : Side::device;
    while (!fiber(Side::host).finished() || !fiber(Side::device).finished()) {
        if (fiber(side).finished()) side = other(side);
        fiber(side).resume();
        side = other(side);
    }
    return failure_;
}

void Machine::start(Body const& body, Side side) {
    Body& guarded = bodies_[index(side)];
    guarded = [this, &body] {
        try {
            body();
        } catch (Ended const&) {
        } catch (std::exception const& error) {
            failure_ = error.what();
            ending_ = true;  // and the other side ends at its next access
        }
    };
    fiber(side).begin(guarded);
}

void Machine::fail(std::string const& what) { throw std::runtime_error(what); }

void Machine::step(Side side) {
    if (ending_) throw Ended{};
    if (++steps_ > step_limit) fail("no progress");
    std::uint64_t const draw = random_.next();
    move_bus(draw);
    if ((draw >> 24 & chances_.stall) == 0) {
        note(Event::Kind::stall, side);
        stalled_until_[index(side)] = steps_ + random_.below(longest_stall);
    }
    Side const next = other(side);
    if (fiber(next).finished() || steps_ < stalled_until_[index(next)]) return;
    bool const stalled = steps_ < stalled_until_[index(side)];
    if (!stalled && (draw >> 40 & chances_.change_sides) != 0) return;
    fiber(side).suspend();
    if (ending_) throw Ended{};
}

void Machine::move_bus(std::uint64_t draw) {
    if ((draw & chances_.deliver[0]) == 0) deliver_one(Side::host);
    if ((draw >> 8 & chances_.deliver[1]) == 0) deliver_one(Side::device);
    if (chances_.ever_evict && (draw >> 16 & chances_.evict) == 0) evict_by_chance();
}

void Machine::evict_by_chance() {
    if (bus_.write_combining) {
        buffers_.evict_one(random_, [this](PartialLine const& part) { leave_buffer(part); });
    }
    if (!bus_.coherent()) {
        copy_.write_out(random_.below(lines_per_memory),
                        [this](PartialLine const& whole) { post_pieces(whole, bus_.pieces); });
    }
}

void Machine::deliver_one(Side writer) {
    if (posted(writer).empty()) return;
    PostedWrite const write = posted(writer).take(random_);
    cells_.write(write.first, write.words());
    note(Event::Kind::arrive, writer, write.first, write.words());
}

void Machine::post(Side writer, Cell first, std::span<std::uint64_t const> words) {
    if (posted(writer).full()) deliver_one(writer);
    posted(writer).post(first, words);
}

}  // namespace carillon::test
