// SPDX-License-Identifier: Apache-2.0
// The CPU's ends of a channel whose kernel writes anything, under a table of commands.
#include "carillon/client.hpp"
#include "carillon/detail/host/host_channel.hpp"
#include "fuzz/fuzz.hpp"
#include "support/ring_memory.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

constexpr std::uint32_t channel_slots = 4;

struct Desk {
    Outcome<double> operator()(int const& /*command*/) { return 1.5; }
};
using Requests = detail::CommandHandler<Desk, Commands<int>>;
using FuzzedChannel = HostChannel<Requests::Request, Requests::Reply, SeenNear, HostMapped>;

// Reads a reply as a client does.
void read_reply(Line const& line) {
    auto const reply = unpack<Requests::Reply>(line);
    if (reply.kind == static_cast<std::uint32_t>(ReplyStatus::answered)) {
        (void)detail::read_packet<double>(reply);
        return;
    }
    try {
        detail::throw_status(reply.kind, reply.word[0], detail::mangled_name<int>());
    } catch (Error const&) {  // as it should be
    }
}

// A channel, the kernel's side of its memory, and the requests whose replies are outstanding.
class Fuzzed {
   public:
    Fuzzed() : channel_(requests_.view(), replies_.view(), SeenNear(), seen_far, &doorbell_) {}

    void step(Input& input) {
        switch (input.below(7)) {
            case 0:
                requests_.credit() = input.take<std::uint64_t>();
                break;
            case 1:
                requests_.credit() += input.below(channel_slots);
                break;
            case 2:
                replies_.slot(input.below(channel_slots)) = input.take<Line>();
                break;
            case 3:
                answer(input.take<Line>());
                break;
            case 4:
                submit(input.take<int>());
                break;
            default:
                if (!awaited_.empty()) look(input.below(awaited_.size()), input.below(4) == 0);
        }
        (void)channel_.all_answered();
    }

   private:
    void answer(Line const& line) {
        replies_.slot((next_reply_ - 1) % channel_slots) = with_tag(line, tag_of(next_reply_));
        ++next_reply_;
    }
    void submit(int command) {
        auto const number = channel_.try_submit(Requests::Table::pack(command), OutOfLine::none);
        if (number) awaited_.push_back(*number);
        require(awaited_.size() <= channel_slots, "no more replies are outstanding than slots");
    }
    void look(std::size_t which, bool abandon) {
        Sequence const number = awaited_[which];
        channel_.require_valid(number);
        Line line;
        if (abandon) {
            channel_.abandon(number);
        } else if (channel_.try_take(number, line)) {
            read_reply(line);
        } else {
            return;
        }
        awaited_.erase(awaited_.begin() + static_cast<std::ptrdiff_t>(which));
    }

    test::RingMemory requests_{channel_slots};
    test::RingMemory replies_{channel_slots};
    std::uint64_t doorbell_ = 0;
    FuzzedChannel channel_;
    std::vector<Sequence> awaited_;
    Sequence next_reply_ = 1;
};

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(channel, input) {
    Fuzzed fuzzed;
    while (!input.empty()) fuzzed.step(input);
}
