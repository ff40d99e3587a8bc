// SPDX-License-Identifier: Apache-2.0
// A GPU whose messages leave by bulk copies, as Relacy's threads: a sender, a receiver, and one
// that carries out the pieces of all outstanding copies in any order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "model/models/ring_model.hpp"

namespace carillon::test {
using namespace detail;

// Pieces that one thread hands to another. Nothing that the first has written comes before them.
class ModelCopies {
   public:
    explicit ModelCopies(ModelMemory& memory) : memory_(memory), pieces_(0) {}

    void add(Quad* to, Quad const& quad) {
        if (!memory_.has(to)) return;
        pieces_at_.at(added_++) = {to, quad};
    }
    void begin() { pieces_(RL_INFO).store(added_, rl::mo_release); }

    // Runs until so many pieces have been carried out.
    void carry_out(std::uint32_t count) {
        std::array<bool, most> done{};
        for (std::uint32_t left = count; left != 0;) {
            std::uint32_t const there = pieces_(RL_INFO).load(rl::mo_acquire);
            std::uint32_t const waiting = there - (count - left);
            if (waiting == 0) {
                rl::yield(1, RL_INFO);
                continue;
            }
            std::uint32_t chosen = 0;
            for (std::uint32_t skip = rl::rand(waiting); done.at(chosen) || skip-- != 0;) ++chosen;
            memory_.at(pieces_at_.at(chosen).to)
                .store(pieces_at_.at(chosen).quad, rl::mo_relaxed, RL_INFO);
            done.at(chosen) = true;
            --left;
        }
    }

   private:
    static constexpr std::size_t most = 32;
    struct Piece {
        Quad* to;
        Quad quad;
    };

    ModelMemory& memory_;
    rl::atomic<std::uint32_t> pieces_;  // how many there are
    std::array<Piece, most> pieces_at_{};
    std::uint32_t added_ = 0;  // the sender's
};

class RelacyBulkGpu : public RelacyGpu<WholeQuads> {
   public:
    RelacyBulkGpu(ModelMemory& memory, ModelCopies& copies) : RelacyGpu(memory), copies_(&copies) {}

    template <std::size_t most>
    void store_bulk(Line* to, Line const* from, std::size_t count, std::size_t quads,
                    std::size_t last) const {
        for (std::size_t i = 0; i < count; ++i) {
            add(&to[i], from[i], i + 1 < count ? quads : last);
        }
        copies_->begin();
    }
    template <std::size_t most>
    void stage_bulk(Line* /*to*/, std::uint32_t i, Line const& line, std::size_t /*quads*/) const {
        staged_.at(i) = line;
    }
    template <std::size_t most>
    void store_staged(Line* to, std::size_t count, std::size_t quads) const {
        for (std::size_t i = 0; i < count; ++i) add(&to[i], staged_.at(i), quads);
        copies_->begin();
    }
    static void settle_bulk() {}

   private:
    void add(Line* to, Line const& line, std::size_t quads) const {
        for (std::size_t quad = 0; quad < quads; ++quad) {
            copies_->add(&to->quads[quad], line.quads[quad]);
        }
    }

    ModelCopies* copies_;
    mutable std::array<Line, 4> staged_{};
};
static_assert(GpuBulkStores<RelacyBulkGpu>);

struct BulkTraffic {
    std::uint32_t capacity;
    std::uint32_t messages;
    std::uint32_t row = 1;  // messages that leave at once, or as many as have room
    Quads quads = all_quads;
    OutOfLine data = OutOfLine::none;
    Sequence first = 1;
};

template <class Message, BulkTraffic traffic>
class BulkModel : public rl::test_suite<BulkModel<Message, traffic>, 3> {
   public:
    static constexpr unsigned depth_limit = 10000;
    // Over all executions of a search.
    inline static std::uint32_t most_taken = 0;

    void before() {
        format_ring(view_);
        memory_.begin(view_.lines(), 1);
    }

    void thread(unsigned index) {
        if (index == 0) return produce();
        if (index == 1) return consume();
        copies_.carry_out(traffic.messages * pieces_of_a_message());
    }

    void after() { most_taken = std::max(most_taken, taken_); }

   private:
    using Far = BasicDeviceBulkFar<RelacyBulkGpu>;
    using Near = BasicDeviceNear<RelacyGpu<WholeQuads>>;
    using HostNear = BasicHostCached<RelacyCpu<WholeQuads>>;
    using HostFar = BasicHostMapped<RelacyCpu<WholeQuads>>;

    [[nodiscard]] static std::uint32_t pieces_of_a_message() {
        std::uint32_t count = 0;
        for (std::size_t quad = 0; quad < quads_of<Message>; ++quad) {
            count += traffic.quads >> quad % quads_per_line & 1U;
        }
        return count;
    }

    void produce() {
        Producer<Message, Far, Near> producer(view_, Far(true, RelacyBulkGpu(memory_, copies_)),
                                              Near(RelacyGpu<WholeQuads>(memory_)));
        while (pushed_ < traffic.messages) {
            std::uint32_t const wanted = std::min(traffic.row, traffic.messages - pushed_);
            std::uint32_t const count = lines_of<Message> == 1
                                            ? producer.room_in_a_row(wanted)
                                            : std::min(wanted, producer.room(wanted));
            if (count == 0) {
                rl::yield(1, RL_INFO);
                continue;
            }
            if (traffic.data == OutOfLine::written) data_.at(pushed_)(RL_INFO) = pushed_ + 1;
            push(producer, count);
            pushed_ += count;
            RL_ASSERT(pushed_ - taken_ <= traffic.capacity);  // nothing was overwritten
        }
    }

    template <class Producer>
    void push(Producer& producer, std::uint32_t count) {
        if constexpr (lines_of<Message> == 1) {
            for (std::uint32_t i = 0; i < count; ++i) {
                producer.template stage<traffic.row>(i, pack(Message::make(pushed_ + i + 1), 0));
            }
            producer.template put_staged<traffic.row>(count);
        } else {
            RL_ASSERT(producer.try_push(Message::make(pushed_ + 1), traffic.data));
        }
    }

    void consume() {
        RelacyCpu<WholeQuads> const cpu(memory_);
        Consumer<Message, HostNear, HostFar> consumer(view_, HostNear(nullptr, cpu),
                                                      HostFar(one_step, nullptr, nullptr, cpu));
        while (taken_ < traffic.messages) {
            Message message{};
            if (!consumer.try_pop(message)) {
                rl::yield(1, RL_INFO);
                continue;
            }
            RL_ASSERT(message == Message::make(taken_ + 1));
            if (traffic.data == OutOfLine::written) {
                RL_ASSERT(data_.at(taken_)(RL_INFO).load() == taken_ + 1);
            }
            ++taken_;
        }
    }

    ModelMemory memory_{QuadIs::one_access, traffic.quads};
    ModelCopies copies_{memory_};
    RingView view_{memory_.lines(), memory_.words(), traffic.capacity, traffic.first,
                   slot_lines_of<Message>};
    std::array<rl::var<std::uint32_t>, traffic.messages> data_;
    // The model's own count, known to all threads at once.
    std::uint32_t pushed_ = 0;
    std::uint32_t taken_ = 0;
};

// For bounded searches.
inline constexpr BulkTraffic few_copies{.capacity = 2, .messages = 3, .quads = first_quad};
inline constexpr BulkTraffic few_rows{
    .capacity = 2, .messages = 3, .row = 2, .quads = first_and_last_quad};
// For random ones. The tags wrap on the way.
inline constexpr BulkTraffic copies_across_the_wrap{
    .capacity = 2, .messages = 4, .first = before_the_wrap};
inline constexpr BulkTraffic rows_across_the_wrap{
    .capacity = 4, .messages = 7, .row = 3, .first = before_the_wrap};

}  // namespace carillon::test
