// SPDX-License-Identifier: Apache-2.0
// A GPU whose messages leave by bulk copies, as Relacy's threads: a sender, a receiver, and one
// that carries out the pieces of all outstanding copies in any order.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

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

template <class Way, RingPlan plan>
class BulkModel : public rl::test_suite<BulkModel<Way, plan>, 3>, public RingEnds<Way, plan> {
   public:
    using Ends = RingEnds<Way, plan>;
    using Ends::before, Ends::after;

    void thread(unsigned index) {
        if (index == 0) return produce();
        if (index == 1) return this->consume();
        copies_.carry_out(plan.messages * pieces_of_a_message());
    }

   private:
    using typename Ends::M, typename Ends::Message;
    using Far = BasicDeviceBulkFar<RelacyBulkGpu>;
    using Near = typename Way::SenderNear;

    // A batch leaves as a row, of as many as have room.
    class RowProducer : public Producer<Message, Far, Near> {
       public:
        using Producer<Message, Far, Near>::Producer;

        [[nodiscard]] bool was_full() {
            count_ = this->room_in_a_row(std::min(plan.batch, plan.messages - sent_));
            return count_ == 0;
        }
        std::size_t try_push_n(Message const* row, std::size_t /*wanted*/, OutOfLine /*data*/) {
            for (std::uint32_t i = 0; i < count_; ++i) {
                this->template stage<plan.batch>(i, pack(row[i], 0));
            }
            this->template put_staged<plan.batch>(count_);
            sent_ += count_;
            return count_;
        }

       private:
        std::uint32_t count_ = 0;  // that have room
        std::uint32_t sent_ = 0;
    };

    [[nodiscard]] static std::uint32_t pieces_of_a_message() {
        std::uint32_t count = 0;
        for (std::size_t quad = 0; quad < quads_of<Message>; ++quad) {
            count += M::quads >> quad % quads_per_line & 1U;
        }
        return count;
    }

    void produce() {
        using End = std::conditional_t<plan.batch == 1, Producer<Message, Far, Near>, RowProducer>;
        End producer(this->view_, Far(true, RelacyBulkGpu(this->memory_, copies_)),
                     M::template make<Near>(this->memory_));
        this->traffic_.produce(producer);
    }

    ModelCopies copies_{this->memory_};
};

template <Quads quads>
using RowsOf = ToHost<Hardware<quads>>;
template <Quads quads>
using LongOf = InTwoLines<ToHost<Hardware<quads>>>;

// For bounded searches.
inline constexpr RingPlan few_copies{.capacity = 2, .messages = 3};
inline constexpr RingPlan few_rows{.capacity = 2, .messages = 3, .batch = 2};
// For random ones. The tags wrap on the way.
inline constexpr RingPlan copies_across_the_wrap{
    .capacity = 2, .messages = 4, .first = before_the_wrap};
inline constexpr RingPlan rows_across_the_wrap{
    .capacity = 4, .messages = 7, .first = before_the_wrap, .batch = 3};

}  // namespace carillon::test
