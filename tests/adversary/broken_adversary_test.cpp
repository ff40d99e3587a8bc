// SPDX-License-Identifier: Apache-2.0
// The adversary can break rings: a protocol without one of its rules fails on its machine.
#include <utility>

#include "adversary/scenarios/count_scenario.hpp"
#include "adversary/scenarios/mpmc_producers.hpp"
#include "adversary/scenarios/ring_scenario.hpp"

namespace carillon::test {
using namespace detail;
namespace {

template <class Far>
struct WithoutCommit : Far {
    void commit(void const* /*where*/, std::size_t /*size*/) const {}
};

template <class Far>
struct WithoutRelease : Far {
    void release() const {}
};

template <class Far>
struct WithoutCredit : Far {
    void store_word(std::uint64_t* /*to*/, std::uint64_t /*value*/) const {}
};

// Takes a line for whole as soon as its last quad is there.
template <class Near>
struct LastQuadOnly : Near {
    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        Line const line = Near::load_line(from, quads);
        return with_tag(line, line.quads[quads - 1].tag());
    }
};

// The line that is looked at after a word, the number given up, is the one of before.
template <class Near>
struct WithoutSecondLook : Near {
    [[nodiscard]] Line load_line(Line const* from, std::size_t quads = quads_per_line) const {
        Line const line = Near::load_line(from, quads);
        return std::exchange(gave_up, false) ? with_tag(line, ~line.quads[0].tag()) : line;
    }
    [[nodiscard]] std::uint64_t load_word(std::uint64_t const* from) const {
        std::uint64_t const word = Near::load_word(from);
        gave_up = word != 0;
        return word;
    }
    mutable bool gave_up = false;
};

template <class Near>
struct BlindExchange : Near {
    [[nodiscard]] std::uint64_t compare_exchange(std::uint64_t* to, std::uint64_t expected,
                                                 std::uint64_t desired) const {
        Near::store_word(to, desired);
        return expected;
    }
};

template <class Near>
struct WithoutRecord : Near {
    void store_word(std::uint64_t* /*to*/, std::uint64_t /*value*/) const {}
};

struct RelaxedGpu : AdversaryGpu {
    [[nodiscard]] Quad load_acquire(Quad const* from) const { return load_relaxed(from); }
    using AdversaryGpu::load_acquire;
};

struct WithoutFlush final : RangeSync {
    void flush(void const* /*where*/, std::size_t /*size*/) const override {}
    void invalidate(void const* /*where*/, std::size_t /*size*/) const override {}
};

// Takes the first pages for the ones that the device looks at.
struct NeverToldPages : ToldPages {
    using ToldPages::ToldPages;
    [[nodiscard]] static bool known() { return true; }
};

constexpr HostStores in_one_step{StoreKind::avx2, PublishMode::one_step};
Configuration const ordinary{{}, in_one_step};

template <class Far>
std::string to_device(Policies const& policies, Far far, OutOfLine data) {
    return RingScenario(policies, Side::host, far, policies.host_near(), policies.device_near(),
                        policies.device_far(), data)
        .run();
}

template <class Far>
std::string to_host(Policies const& policies, Far far, OutOfLine data) {
    return RingScenario(policies, Side::device, far, policies.device_near(), policies.host_near(),
                        policies.host_far(), data)
        .run();
}

TEST(AdversaryBreaksTest, aLineInOneStepOnABusOfWords) {
    for (StoreKind const kind : {StoreKind::sse2, StoreKind::avx2, StoreKind::avx512}) {
        Configuration const words{{.pieces = Pieces::words}, {kind, PublishMode::one_step}};
        EXPECT_TRUE(fails_for_some_seed(words, "is wrong", [](Policies const& policies) {
            return ring_to_device(policies, OutOfLine::none).run();
        })) << to_string(kind);
    }
}

TEST(AdversaryBreaksTest, aLineTakenForItsLastQuad) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "is wrong", [](Policies const& policies) {
        LastQuadOnly<Policies::DeviceNear> const near{policies.device_near()};
        return RingScenario(policies, Side::host, policies.host_far(), policies.host_near(), near,
                            policies.device_far(), OutOfLine::none)
            .run();
    }));
}

TEST(AdversaryBreaksTest, aLineInOnePageBeforeTheChoiceIsKnown) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "no progress", [](Policies const& policies) {
        return ring_in_pairs<NeverToldPages>(policies, OutOfLine::none).run();
    }));
}

TEST(AdversaryBreaksTest, aPublishWithoutCommit) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "no progress", [](Policies const& policies) {
        WithoutCommit<Policies::HostFar> const far{policies.host_far()};
        return to_device(policies, far, OutOfLine::none);
    }));
}

TEST(AdversaryBreaksTest, dataWithoutReleaseToTheDevice) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "other data", [](Policies const& policies) {
        WithoutRelease<Policies::HostFar> const far{policies.host_far()};
        return to_device(policies, far, OutOfLine::written);
    }));
}

TEST(AdversaryBreaksTest, dataWithoutReleaseToTheHost) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "other data", [](Policies const& policies) {
        WithoutRelease<Policies::DeviceFar> const far{policies.device_far()};
        return to_host(policies, far, OutOfLine::written);
    }));
}

TEST(AdversaryBreaksTest, dataReadAfterARelaxedLoadOfTheLine) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "other data", [](Policies const& policies) {
        BasicDeviceNear const near(RelaxedGpu{AdversaryGpu(policies.machine())});
        return RingScenario(policies, Side::host, policies.host_far(), policies.host_near(), near,
                            policies.device_far(), OutOfLine::written)
            .run();
    }));
}

TEST(AdversaryBreaksTest, aConsumerThatReturnsNoCredit) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "no progress", [](Policies const& policies) {
        WithoutCredit<Policies::DeviceFar> const far{policies.device_far()};
        return RingScenario(policies, Side::host, policies.host_far(), policies.host_near(),
                            policies.device_near(), far, OutOfLine::none)
            .run();
    }));
}

struct AsFlagOfNoData : AsFlag {
    template <class Far>
    struct Sender : AsFlag::Sender<Far> {
        Sender(Place word, Far far, OutOfLine /*data*/)
            : AsFlag::Sender<Far>(word, far, OutOfLine::none) {}
    };
};

TEST(AdversaryBreaksTest, aFlagThatDoesNotSayThatDataWasWritten) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "with the data of", [](Policies const& policies) {
        return count<AsFlagOfNoData>(policies, Side::host, policies.host_far(),
                                     policies.device_near(), OutOfLine::written);
    }));
}

TEST(AdversaryBreaksTest, nonCoherentMemoryThatIsNotFlushed) {
    Configuration const non_coherent{{.atom = 64}, in_one_step};
    EXPECT_TRUE(fails_for_some_seed(non_coherent, "no progress", [](Policies const& policies) {
        WithoutFlush const sync;
        Policies::HostFar const far(in_one_step, &sync, nullptr, AdversaryCpu(policies.machine()));
        return to_device(policies, far, OutOfLine::none);
    }));
}

TEST(AdversaryBreaksTest, nonCoherentMemoryThatIsNotInvalidated) {
    Configuration const non_coherent{{.atom = 64}, in_one_step};
    EXPECT_TRUE(fails_for_some_seed(non_coherent, "no progress", [](Policies const& policies) {
        WithoutFlush const sync;
        Policies::HostNear const near(&sync, AdversaryCpu(policies.machine()));
        return RingScenario(policies, Side::device, policies.device_far(), policies.device_near(),
                            near, policies.host_far(), OutOfLine::none)
            .run();
    }));
}

TEST(AdversaryBreaksTest, dataOnABusThatFencesDoNotOrderWithoutReadBack) {
    Configuration const unordered{{.fences_order = false}, in_one_step};
    EXPECT_TRUE(fails_for_some_seed(unordered, "other data", [](Policies const& policies) {
        return ring_to_device(policies, OutOfLine::written).run();
    }));
}

// Without the release, writes from before a number was given up may arrive after it.
TEST(AdversaryBreaksTest, claimsGivenUpWithoutRelease) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "", [](Policies const& policies) {
        WithoutRelease<Policies::HostFar> const far{policies.host_far()};
        return mpmc_to_device(policies, far, policies.host_near(), policies.device_near(),
                              policies.device_far(), {.deaths = 1});
    }));
}

// A consumer that has seen a number given up looks at the line once more. Without that it passes
// over a message, which is then overwritten.
TEST(AdversaryBreaksTest, aLineSkippedWithoutASecondLook) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "pushed and", [](Policies const& policies) {
        WithoutSecondLook<Policies::DeviceNear> const near{policies.device_near()};
        return mpmc_to_device(policies, policies.host_far(), policies.host_near(), near,
                              policies.device_far(), {.deaths = 1});
    }));
}

// A CPU on which two threads can claim the same numbers.
TEST(AdversaryBreaksTest, aClaimThatAnotherThreadMadeToo) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "", [](Policies const& policies) {
        BlindExchange<Policies::HostNear> const near{policies.host_near()};
        return mpmc_to_device(policies, policies.host_far(), near, policies.device_near(),
                              policies.device_far(), {});
    }));
}

// A living thread's claim is given up, although the thread goes on to write.
TEST(AdversaryBreaksTest, aClaimWithoutARecord) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "", [](Policies const& policies) {
        WithoutRecord<Policies::HostNear> const near{policies.host_near()};
        return mpmc_to_device(policies, policies.host_far(), near, policies.device_near(),
                              policies.device_far(), {.deaths = 1});
    }));
}

TEST(AdversaryBreaksTest, aReadFromFarMemory) {
    EXPECT_TRUE(fails_for_some_seed(ordinary, "far memory", [](Policies const& policies) {
        Line const* const line = policies.machine().device_lines();
        return policies.machine().run([&] { (void)policies.host_near().load_line(line); }, [] {});
    }));
}

}  // namespace
}  // namespace carillon::test
