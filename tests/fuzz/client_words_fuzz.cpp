// SPDX-License-Identifier: Apache-2.0
// A block that serves a client of another process, which writes what it likes into every word that
// it has, at any time. The block comes back, and touches nothing outside of that memory: the
// address sanitizer sees its accesses.
#include <memory>

#include "carillon/detail/kernel/serve.hpp"
#include "carillon/detail/kernel/serve_long.hpp"
#include "carillon/detail/protocol/channel_view.hpp"
#include "carillon/detail/protocol/endpoints.hpp"
#include "fuzz/fuzz.hpp"

namespace carillon::fuzz {
namespace {

constexpr std::uint32_t client_slots = 8;

struct alignas(4096) Page {
    std::byte bytes[4096];
};

// As large as what a client gets, and no larger.
template <class Request, class Reply>
class ClientMemory {
   public:
    [[nodiscard]] ChannelView view() const {
        return ChannelTable{device_.get(), host_.get(), 1, shape, 1, nullptr, true}.channel(0);
    }

    // Something that is there now and was not before.
    void write(Input& input) {
        RingView const ring = view().requests;
        switch (input.below(4)) {
            case 0:
                write_word(device_.get(), device_bytes, input);
                break;
            case 1:
                write_word(host_.get(), host_bytes, input);
                break;
            case 2:
                *view().replies.credit = input.take<std::uint64_t>();
                break;
            default:
                write_request(ring, input);
        }
    }

   private:
    static constexpr ChannelShape shape = ChannelShape::of<Request, Reply>(client_slots);
    static constexpr std::size_t device_bytes = ChannelTable::doorbells_end(1, shape);
    static constexpr std::size_t host_bytes = ChannelTable::host_bytes(shape);
    struct FreePages {
        void operator()(std::byte* pages) const {
            ::operator delete(pages, std::align_val_t(alignof(Page)));
        }
    };
    using Pages = std::unique_ptr<std::byte, FreePages>;

    [[nodiscard]] static Pages make(std::size_t size) {
        auto* const bytes =
            static_cast<std::byte*>(::operator new(size, std::align_val_t(alignof(Page))));
        std::memset(bytes, 0, size);
        return Pages(bytes);
    }
    static void write_word(std::byte* memory, std::size_t size, Input& input) {
        std::size_t const at = input.take<std::uint32_t>() % (size / sizeof(std::uint64_t));
        auto const word = input.take<std::uint64_t>();
        std::memcpy(memory + at * sizeof(word), &word, sizeof(word));
    }
    // What is, or is almost, a message that may come next.
    void write_request(RingView const& ring, Input& input) {
        Sequence const number = next_ + input.below(3);
        next_ += input.below(2);
        for (std::uint32_t i = 0; i < ring.slot_lines; ++i) {
            Line const line = with_tag(input.take<Line>(), tag_of(number));
            ring.slot(number)[i] = line;
            ring.slot(number, ~PageWord{0})[i] = line;
        }
    }

    Pages device_ = make(device_bytes);
    Pages host_ = make(host_bytes);
    Sequence next_ = 1;
};

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
