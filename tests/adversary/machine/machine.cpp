// SPDX-License-Identifier: Apache-2.0
#include "adversary/machine/machine.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace carillon::test {
using namespace detail;
namespace {

// Some hundred times the steps of a run that makes progress.
constexpr std::uint32_t step_limit = 1U << 19;

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
    using enum PostedWrites::Fences;
    posted(Side::host).reset(random_.one_in(4), bus.fences_order ? order_all : order_nothing);
    posted(Side::device).reset(random_.one_in(4), order_own);
    for (WriteCombining& buffers : buffers_) buffers.reset();
    horizon_ = {};
    lives_ = {};
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
    chances_.longest_stall = 400;
    chances_.look_back = random_.one_in(2);
}

std::string Machine::run(Body const& host, Body const& device) {
    return run({{Side::host, host}, {Side::device, device}});
}

std::string Machine::run(std::vector<Thread> threads) {
    threads_ = std::move(threads);
    cells_.reset(lines_.data());
    if (!bus_.coherent()) copy_.reset(cells_);
    auto const count = static_cast<Actor>(threads_.size());
    for (Actor actor = 0; actor != count; ++actor) start(actor);
    next_ = random_.below(count);
    for (;;) {
        for (Actor i = 0; i != count && fibers_[next_].finished(); ++i) next_ = (next_ + 1) % count;
        if (fibers_[next_].finished()) return failure_;
        running_ = next_;
        fibers_[running_].resume();
    }
}

void Machine::start(Actor actor) {
    guarded_[actor] = [this, &thread = threads_[actor]] {
        try {
            thread.body();
        } catch (Ended const&) {
        } catch (Died const&) {
        } catch (std::exception const& error) {
            failure_ = error.what();
            ending_ = true;  // and the others end at their next access
        }
        if (!ending_) finish_life(thread.side);
    };
    fibers_[actor].begin(guarded_[actor]);
}

void Machine::finish_life(Side side) {
    if (side != Side::host) return;
    buffers().evict_all(random_, [this](PartialLine const& part) { leave_buffer(part); });
    if (!bus_.coherent()) {
        copy_.write_out_all([this](PartialLine const& whole) { post_pieces(whole, bus_.pieces); });
    }
    posted(side).fence(eyes(side));
}

void Machine::fail(std::string const& what) { throw std::runtime_error(what); }

void Machine::step(Side side) {
    if (ending_) throw Ended{};
    if (++steps_ > step_limit) fail("no progress");
    if (lives_[running_] != 0 && --lives_[running_] == 0) throw Died{};
    std::uint64_t const draw = random_.next();
    move_bus(draw);
    if ((draw >> 24 & chances_.stall) == 0) {
        note(Event::Kind::stall, side);
        stalled_until_[running_] = steps_ + random_.below(chances_.longest_stall);
    }
    bool const stalled = steps_ < stalled_until_[running_];
    if (!stalled && (draw >> 40 & chances_.change_sides) != 0) return;
    next_ = another();
    if (next_ == running_) return;
    fibers_[running_].suspend();
    if (ending_) throw Ended{};
}

Actor Machine::another() {
    auto const count = static_cast<Actor>(threads_.size());
    Actor next = count == 2 ? 0 : random_.below(count);
    for (Actor i = 0; i != count; ++i, next = (next + 1) % count) {
        bool const free = !fibers_[next].finished() && steps_ >= stalled_until_[next];
        if (next != running_ && free) return next;
    }
    return running_;
}

void Machine::move_bus(std::uint64_t draw) {
    if ((draw & chances_.deliver[0]) == 0) deliver_one(Side::host);
    if ((draw >> 8 & chances_.deliver[1]) == 0) deliver_one(Side::device);
    if (chances_.ever_evict && (draw >> 16 & chances_.evict) == 0) evict_by_chance();
}

void Machine::evict_by_chance() {
    if (bus_.write_combining) {
        Actor const running = running_;
        running_ = random_.below(static_cast<Actor>(threads_.size()));  // whose it is
        buffers().evict_one(random_, [this](PartialLine const& part) { leave_buffer(part); });
        running_ = running;
    }
    if (!bus_.coherent()) {
        copy_.write_out(random_.below(lines_per_memory),
                        [this](PartialLine const& whole) { post_pieces(whole, bus_.pieces); });
    }
}

void Machine::deliver_one(Side writer) {
    if (posted(writer).empty()) return;
    auto const write = posted(writer).take(random_);
    if (!write) return;
    cells_.write(write->first, write->words());
    note(Event::Kind::arrive, writer, write->first, write->words());
}

void Machine::post(Side writer, Cell first, std::span<std::uint64_t const> words, bool bulk) {
    while (posted(writer).full()) deliver_one(writer);
    posted(writer).post(eyes(writer), first, words, bulk);
}

}  // namespace carillon::test
