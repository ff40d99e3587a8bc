// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include "kernels/verify/bulk.hpp"

#include <utility>

#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

constexpr detail::Sequence first_answer =
    (detail::Sequence{1} << 32U) - 99;  // tags wrap early in every ring
constexpr std::uint32_t answer_slots = 32;
constexpr unsigned least_blocks = 5;  // a kernel's answers are bulk copies from so many blocks on

// Rings of answers, taken by as many threads as there are.
template <class T>
struct AnswerRings {
    VerifyStage const& stage;
    ChannelMemory memory;
    detail::HostMapped far;

    explicit AnswerRings(VerifyStage const& on)
        : stage(on),
          memory(on.device, on.threads * rings_per_thread(on),
                 ChannelShape::of<Numbered, T>(answer_slots), first_answer),
          far(on.device.access(memory.device_memory())) {}

    [[nodiscard]] static unsigned rings_per_thread(VerifyStage const& stage) {
        return std::max(stage.rings_per_thread(),
                        (least_blocks + stage.threads - 1) / stage.threads);
    }
    [[nodiscard]] detail::ChannelView host_view(unsigned ring) const {
        return memory.host_view().channel(ring);
    }
};

template <class T>
struct OpenRing {
    AnswerTaker<T> taker;
    std::uint64_t const* end;
    unsigned ring;

    OpenRing(AnswerRings<T> const& rings, unsigned number, OldQuad old)
        : taker(rings.host_view(number).replies, number, old, detail::HostCached(), rings.far),
          end(&rings.host_view(number).status->ended),
          ring(number) {}

    [[nodiscard]] bool take(Findings& findings) {
        for (std::uint32_t n = 0; n < burst; ++n) {
            if (!taker.try_take(findings)) return n != 0;
        }
        return true;
    }
    [[nodiscard]] std::uint64_t ended() const { return detail::HostCached().load_word(end); }
    [[nodiscard]] bool at_end() const { return taker.next() == ended(); }
};

template <class T>
Findings take_answers(AnswerRings<T> const& rings, OldQuad old, unsigned thread,
                      Clock::time_point deadline) {
    Findings findings;
    std::vector<OpenRing<T>> open;
    unsigned const count = rings.rings_per_thread(rings.stage);
    for (unsigned i = 0; i < count; ++i) open.emplace_back(rings, thread * count + i, old);
    while (!open.empty()) {
        bool taken = false;
        for (auto& each : open) taken |= each.take(findings);
        if (taken) continue;
        rings.stage.rest();
        std::erase_if(open, [](auto const& each) { return each.at_end(); });
        if (Clock::now() < deadline + arrival_patience) continue;
        for (auto const& each : open) {
            detail::Sequence const next = each.taker.next();
            Evidence const missing{Fault::missing, each.ring, next, 0, each.ended(), next};
            findings.add(missing);
        }
        break;
    }
    return findings;
}

template <class T, std::uint32_t row>
Findings run_answers(VerifyStage const& stage, bool word_by_word, std::chrono::nanoseconds time) {
    AnswerRings<T> const rings(stage);
    LitmusKernel kernel(stage, rings.memory.channels(), time);
    detail::ChannelTable const channels = rings.memory.device_view();
    if (word_by_word) {
        kernel.start(SendAnswers<T, row, WordByWordFar>{channels, kernel.station()});
    } else {
        kernel.start(SendAnswers<T, row, detail::DeviceBulkFar>{channels, kernel.station()});
    }
    OldQuad const old =
        stage.device.traits().loads_whole_quads ? OldQuad::whole : OldQuad::new_payload;
    auto const deadline = Clock::now() + time;
    return on_threads_until(kernel, deadline, stage.threads, [&](unsigned thread) {
        return take_answers(rings, old, thread, deadline);
    });
}

struct AnswerForm {
    char const* name;
    Findings (*run)(VerifyStage const&, bool, std::chrono::nanoseconds);
};
constexpr AnswerForm answer_forms[] = {
    {"answers of 1 line", run_answers<NumberedLines<1>, 1>},
    {"answers of 2 lines", run_answers<NumberedLines<2>, 1>},
    {"answers of 16 lines", run_answers<NumberedLines<16>, 1>},
    {"up to 4 answers of 1 line in a row", run_answers<NumberedLines<1>, 4>},
    {"up to 16 answers of 2 quads in a row", run_answers<NumberedWords<3>, 16>},
};

}  // namespace

std::vector<std::string> answer_names() {
    std::vector<std::string> names;
    for (AnswerForm const& form : answer_forms) names.emplace_back(form.name);
    return names;
}

Findings run_bulk(VerifyStage const& stage, BulkTest const& test, std::chrono::nanoseconds time) {
    return answer_forms[test.form].run(stage, test.word_by_word, time);
}

}  // namespace carillon::tool
