// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/pages.hpp"

#include <algorithm>
#include <array>

#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

constexpr detail::Sequence first_of_pages =
    (detail::Sequence{1} << 32U) - 999;  // tags wrap early in every ring
constexpr std::chrono::milliseconds patience_of_control{2};

// When the producer begins to send.
enum class Beginning : std::uint8_t {
    before,  // the consumer is there
    during,  // it chooses, or before or after that
    after,   // it has reported its choice
};

// The host's end of one ring: round after round, a step at a time. Pages: ToldPages, or FirstPage.
template <class T, class Pages>
class RoundSender {
   public:
    RoundSender(ChannelMemory const& memory, detail::HostMapped const& far, unsigned ring)
        : view_(memory.host_view().channel(ring)),
          far_(far),
          ring_(ring),
          producer_(view_.requests, far, detail::HostCached()) {}

    // Whether it did anything. No round begins after the deadline.
    bool step(Clock::time_point now, Clock::time_point deadline, Findings& findings) {
        if (is_over()) {
            if (now >= deadline || interrupted()) {
                ended_ = true;
                return false;
            }
            begin(now, findings);
            return true;
        }
        if (now > began_ + 2 * arrival_patience) {
            findings.add({Fault::missing, ring_, producer_.next(), 0, round_, 0});
            ended_ = true;
            return false;
        }
        return send(findings);
    }
    [[nodiscard]] bool ended() const { return ended_; }

   private:
    using PagedProducer = detail::Producer<T, detail::HostMapped, detail::HostCached,
                                           detail::NoDoorbell, detail::OneThread, Pages>;
    static constexpr std::uint32_t most_at_once = 8;

    [[nodiscard]] bool is_over() const {
        return detail::HostCached().load_word(&view_.status->ended) == round_;
    }
    // How many of the words that report the pages have come.
    [[nodiscard]] std::uint32_t words_told() const {
        std::uint32_t told = 0;
        for (std::uint32_t i = 0; i < words(); ++i) {
            told += detail::HostCached().load_word(view_.requests.pages.told + i) != 0 ? 1 : 0;
        }
        return told;
    }
    [[nodiscard]] std::uint32_t words() const {
        detail::RingView const& ring = view_.requests;
        return ring.in_pairs() ? detail::PagePairs::words(ring.capacity, ring.pages.page_shift) : 0;
    }

    // A ring as it is when it has just been made, but for its numbers.
    void begin(Clock::time_point now, Findings& findings) {
        detail::RingView& ring = view_.requests;
        if (round_ != 0) ring.first += messages_of(ring_, round_);
        ++round_;
        ++findings.rounds;
        for (std::uint32_t i = 0; i < words(); ++i) store_data(ring.pages.told + i, 0);
        store_data(ring.credit, ring.first - 1);
        producer_ = PagedProducer(ring, far_, detail::HostCached());
        end_ = ring.first + messages_of(ring_, round_);
        random_ = scramble(static_cast<std::uint32_t>(round_), ring_ + 1);
        beginning_ = static_cast<Beginning>(random_ % 3);
        began_ = now;
        told_at_first_ = words();
        if (beginning_ == Beginning::before) {
            std::uint32_t const ahead = 1 + (random_ >> 8U) % messages_of(ring_, round_);
            while (producer_.next() - ring.first < ahead && push(findings)) {
            }
        }
        detail::FlagWriter<std::uint64_t, detail::HostMapped>(&view_.control->stop, far_)
            .set(round_, OutOfLine::written);
    }

    bool send(Findings& findings) {
        if (beginning_ == Beginning::after && words_told() != words()) return false;
        return push(findings);
    }

    // A few of the round's messages, one by one and at once in turn; whether any.
    bool push(Findings& findings) {
        if (producer_.next() == end_) return false;
        if (producer_.next() == view_.requests.first) told_at_first_ = words_told();
        auto const left = static_cast<std::uint32_t>(end_ - producer_.next());
        random_ = scramble(random_, 1);
        std::uint32_t const count = std::min(left, 1 + random_ % most_at_once);
        for (std::uint32_t i = 0; i < count; ++i) {
            messages_[i] = T::make(ring_, producer_.next() + i);
        }
        std::size_t const sent = (random_ & 64U) == 0
                                     ? producer_.try_push_n(messages_.data(), count)
                                     : (producer_.try_push(messages_[0]) ? 1 : 0);
        if (sent != 0 && producer_.next() == end_ && told_at_first_ != words_told()) {
            ++findings.overlapping;
        }
        return sent != 0;
    }

    detail::ChannelView view_;
    detail::HostMapped far_;
    unsigned ring_;
    PagedProducer producer_;
    std::array<T, most_at_once> messages_{};
    std::uint64_t round_ = 0;
    detail::Sequence end_ = 0;
    std::uint32_t random_ = 0;
    std::uint32_t told_at_first_ = 0;
    Beginning beginning_ = Beginning::before;
    Clock::time_point began_;
    bool ended_ = false;
};

template <class T, class Pages>
Findings send_rounds(VerifyStage const& stage, ChannelMemory const& memory, unsigned thread,
                     Clock::time_point deadline) {
    detail::HostMapped const far = stage.device.access(memory.device_memory());
    std::vector<RoundSender<T, Pages>> senders;
    for (unsigned i = 0; i < stage.rings_per_thread(); ++i) {
        senders.emplace_back(memory, far, thread * stage.rings_per_thread() + i);
    }
    Findings findings;
    while (!senders.empty()) {
        bool progress = false;
        auto const now = Clock::now();
        for (auto& each : senders) progress |= each.step(now, deadline, findings);
        std::erase_if(senders, [](auto const& each) { return each.ended(); });
        if (!progress) stage.rest();
    }
    return findings;
}

template <class T>
Findings run_rounds(VerifyStage const& stage, PageTest const& test, std::chrono::nanoseconds time) {
    unsigned const rings = stage.threads * stage.rings_per_thread();
    ChannelMemory const memory(stage.device, rings, ChannelShape::of<T, Numbered>(test.capacity),
                               first_of_pages);
    LitmusKernel kernel(stage, rings, time);
    std::chrono::nanoseconds const patience =
        test.first_page_only ? patience_of_control : std::chrono::nanoseconds(arrival_patience);
    kernel.start(TakeRounds<T>{memory.device_view(), static_cast<std::uint64_t>(patience.count()),
                               kernel.station()});
    auto const deadline = Clock::now() + time;
    Findings found = on_threads(stage.threads, [&](unsigned thread) {
        return test.first_page_only
                   ? send_rounds<T, FirstPage>(stage, memory, thread, deadline)
                   : send_rounds<T, detail::ToldPages>(stage, memory, thread, deadline);
    });
    found += kernel.end();
    return found;
}

}  // namespace

Findings run_pages(VerifyStage const& stage, PageTest const& test, std::chrono::nanoseconds time) {
    return test.large ? run_rounds<NumberedLines<16>>(stage, test, time)
                      : run_rounds<Numbered>(stage, test, time);
}

}  // namespace carillon::tool
