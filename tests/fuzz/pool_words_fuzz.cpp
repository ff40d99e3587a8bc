// SPDX-License-Identifier: Apache-2.0
// Blocks that together serve clients of other processes. One client writes anything into every word
// that it has, at any time. The blocks return from each look, touch no other memory (the address
// sanitizer sees their accesses), and serve the other client.
#include <array>

#include "carillon/detail/access/device_near_far.hpp"
#include "carillon/detail/access/host_near_far.hpp"
#include "carillon/detail/protocol/lease.hpp"
#include "carillon/detail/protocol/pool_places.hpp"
#include "fuzz/client_memory.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr unsigned pool_places = 2;
constexpr unsigned pool_blocks = 2;

template <class Message>
class SharedBlocks {
   public:
    explicit SharedBlocks(Input& input) : input_(input) {
        lend(0, garbage_);
        lend(1, honest_);
    }

    void run() {
        while (!input_.empty()) {
            if (input_.below(2) == 0) garbage_.write(input_);
            if (input_.below(4) == 0) send_and_expect();
            look(static_cast<unsigned>(input_.below(pool_blocks)));
        }
        // Its lease ends as any lease.
        writers_[0].end();
        news_.tell();
        for (unsigned i = 0; i < 2 * looks_; ++i) look(i % pool_blocks);
        require(writers_[0].over(), "blocks leave memory that was taken back");
        send_and_expect();
    }

   private:
    using Blocks = PoolPlaces<Message, Message, DeviceNear, DeviceFar, PoolSweeps{2, 2}>;
    static constexpr unsigned looks_ = 8;

    void lend(unsigned place, ClientMemory<Message, Message> const& memory) {
        format_ring(memory.view().requests);
        format_ring(memory.view().replies);
        writers_[place].begin(memory.table());
        news_.tell();
    }
    void look(unsigned block) {
        PoolRequest<Message> taken;
        if (!blocks_[block].try_take(taken)) return;
        // The client writes while its request is handled, too.
        if (!input_.empty() && input_.below(2) == 0) garbage_.write(input_);
        blocks_[block].answer(taken, taken.message, OutOfLine::none);
    }
    void send_and_expect() {
        ChannelView const view = honest_.view();
        Packed<Message> const message = pack(Message{}, tag_of(next_));
        for (std::size_t i = 0; i < lines_of<Message>; ++i) {
            view.requests.slot(next_)[i] = lines_in(message)[i];
        }
        Packed<Message> reply;
        for (unsigned i = 0; i < 2 * looks_; ++i) look(i % pool_blocks);
        bool const answered = detail::load_message<Message>(HostCached(), view.replies.slot(next_),
                                                            tag_of(next_), reply);
        require(answered, "the other client is answered");
        ++next_;
    }

    Input& input_;
    ClientMemory<Message, Message> garbage_{ServedBy::any_block};
    ClientMemory<Message, Message> honest_{ServedBy::any_block};
    std::array<LeaseLine, pool_places + 1> lines_{};
    std::array<LeaseStatus, std::size_t{pool_places} * pool_blocks> status_{};
    std::array<LeaseClaim, pool_places> claims_{};
    LeaseTable table_{lines_.data(),
                      status_.data(),
                      ClientMemory<Message, Message>::shape,
                      pool_blocks,
                      &lines_[pool_places].number,
                      claims_.data()};
    using Writer = LeaseWriter<HostCached, HostMapped>;
    std::array<Writer, pool_places> writers_{Writer(table_, 0, HostCached(), HostMapped()),
                                             Writer(table_, 1, HostCached(), HostMapped())};
    LeaseNewsWriter<HostMapped> news_{table_.news, HostMapped()};
    std::array<Blocks, pool_blocks> blocks_{Blocks(table_, pool_places, 0),
                                            Blocks(table_, pool_places, 1)};
    Sequence next_ = 1;
};

struct PoolShort {
    std::uint32_t word[12];
};
struct PoolLong {
    std::uint32_t word[60];
};

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(pool_words, input) {
    if (input.below(2) == 0) {
        SharedBlocks<PoolShort>(input).run();
    } else {
        SharedBlocks<PoolLong>(input).run();
    }
}
