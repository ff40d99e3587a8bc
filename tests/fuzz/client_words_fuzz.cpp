// SPDX-License-Identifier: Apache-2.0
// A block that serves a client of another process. The client writes anything into every word that
// it has, at any time. The block returns, and touches no other memory: the address sanitizer sees
// its accesses.
#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/kernel/serve_long.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "fuzz/client_memory.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
using namespace detail;
namespace {

// The client writes whenever the block looks; the block ends when it has nothing left to write.
template <class Memory>
class ClientControl {
   public:
    ClientControl(Memory& memory, Input& input) : memory_(&memory), input_(&input) {}

    void report_started() const {}
    void report_ended() const {}
    [[nodiscard]] bool stop_now() const {
        spin();
        return input_->empty();
    }
    [[nodiscard]] bool should_stop() const { return stop_now(); }
    void spin() const {
        if (!input_->empty()) memory_->write(*input_);
    }
    void idle() const { spin(); }
    void looked() const {}
    bool busy() const {
        spin();
        return input_->below(2) == 0;
    }
    [[nodiscard]] bool was_quick() const { return true; }
    [[nodiscard]] static std::uint32_t polls_before_rest() { return 4; }
    [[nodiscard]] static bool may_rest() { return false; }
    void rest(std::uint32_t /*polls*/) const {}

   private:
    Memory* memory_;
    Input* input_;
};

struct Short {
    std::uint32_t word[12];
};
struct Long {
    std::uint32_t word[60];
};
// The client writes while its request is handled, too.
template <class Message>
struct Echo {
    ClientMemory<Message, Message> memory{};
    Input& input;

    Message operator()(Message const& message) {
        if (!input.empty()) memory.write(input);
        return message;
    }
};

}  // namespace
}  // namespace carillon::fuzz

CARILLON_FUZZ_TARGET(client_words, input) {
    if (input.below(2) == 0) {
        Echo<Short> echo{.input = input};
        ChannelView const view = echo.memory.view();
        serve(DeviceChannel<Short, Short>(view.requests, view.replies), echo,
              ClientControl(echo.memory, input));
    } else {
        Echo<Long> echo{.input = input};
        ChannelView const view = echo.memory.view();
        detail::SharedMessages<Long, Long> shared;
        serve_long(LongChannel<Long, Long>(view.requests, view.replies), echo,
                   ClientControl(echo.memory, input), WarpLanes(), shared);
    }
}
