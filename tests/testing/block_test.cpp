// SPDX-License-Identifier: Apache-2.0
// Handlers and bodies that all threads of a block run: their barriers, votes and shared memory.
#include <gtest/gtest.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "carillon/detail/machine/group.hpp"
#include "carillon/detail/wire/config.hpp"
#include "carillon/testing.hpp"
#include "support/expect_error.hpp"
#include "testing/threaded_handlers.hpp"

namespace carillon::test {
using namespace detail;
namespace {

using carillon::testing::BarrierError;
using carillon::testing::run_block;
using carillon::testing::run_body;

// Runs a body of 32 threads that must fail.
template <class Body>
std::string barrier_error_of(Body const& body) {
    return thrown_text<BarrierError>([&] { run_body(body, {.threads = 32}); });
}

std::string at_line(int line, std::string const& threads) {
    return threads + " at block::sync (" + __FILE__ + ":" + std::to_string(line) + ")";
}

#define EXPECT_SAYS(text, part) \
    EXPECT_NE((text).find(part), std::string::npos) << "the text was: " << (text)

TEST(TestedBlockTest, handlerWhoseThreadsWaitForEachOtherGivesOneReply) {
    EXPECT_EQ(run_block(ReadWrite{.races = false}, 2), 64);
    EXPECT_EQ(run_block(WriteWrite{.races = false}, 2), 2);
    EXPECT_EQ(run_block(MissingBarrierAfterTheRead{.races = false}, 2), 32 * 9);
}

// The first thread replies. Each thread has a state, which the next request finds.
struct Counts {
    static constexpr unsigned threads = 8;
    unsigned count = 0;

    CARILLON_HD unsigned operator()(unsigned request) {
        count += request;
        return count + 1000 * block::thread_rank();
    }
};

TEST(TestedBlockTest, requestsInARowFindTheStateOfTheThreads) {
    EXPECT_EQ(run_block(Counts(), std::vector<unsigned>{1, 2, 3}),
              (std::vector<unsigned>{1, 3, 6}));
}

// The threads of the block share its state, which the next request finds.
struct CountsTogether {
    static constexpr unsigned threads = 8;
    struct Shared {
        unsigned of[8] = {};
    };

    CARILLON_HD unsigned operator()(unsigned request, Shared& shared) {
        shared.of[block::thread_rank()] += request;
        block::sync();
        unsigned sum = 0;
        for (unsigned const each : shared.of) sum += each;
        block::sync();
        return sum;
    }
};

TEST(TestedBlockTest, requestsInARowFindTheStateOfTheBlock) {
    EXPECT_EQ(run_block(CountsTogether(), std::vector<unsigned>{1, 2, 3}),
              (std::vector<unsigned>{8, 24, 48}));
}

TEST(TestedBlockTest, everyThreadOfTheBlockRuns) {
    unsigned const many = CARILLON_THREAD_SANITIZER != 0 ? 200 : 1024;  // else it takes seconds
    for (unsigned const threads : {1U, 31U, 33U, many}) {
        std::vector<unsigned> ran(threads);
        run_body(
            [&](unsigned block) {
                EXPECT_EQ(block, 3U);
                EXPECT_EQ(block::index(), 3U);
                EXPECT_EQ(block::size(), threads);
                ++ran[block::thread_rank()];
                block::sync();
            },
            {.threads = threads, .seeds = 3, .block = 3});
        EXPECT_EQ(ran, std::vector<unsigned>(threads, 3));
    }
}

TEST(TestedBlockTest, orderIsTheSeeds) {
    auto const order_of = [](std::uint64_t seed) {
        std::vector<unsigned> order(4);
        std::atomic<unsigned> next = 0;
        run_body([&](unsigned) { order[next++] = block::thread_rank(); },
                 {.threads = 4, .first_seed = seed, .seeds = 1});
        return order;
    };
    EXPECT_EQ(order_of(0), (std::vector<unsigned>{0, 1, 2, 3}));
    EXPECT_EQ(order_of(1), (std::vector<unsigned>{3, 2, 1, 0}));
    EXPECT_EQ(order_of(77), order_of(77));
    EXPECT_NE(order_of(77), order_of(78));
}

TEST(TestedBlockTest, threadThatReturnsBeforeTheBarrierIsNamed) {
    int const line = __LINE__ + 2;
    std::string const text = barrier_error_of([&](unsigned) {
        if (block::thread_rank() != 7) block::sync();
    });
    EXPECT_SAYS(text, "testing::run_body: with seed 0 the threads of the block do not meet: ");
    EXPECT_SAYS(text, at_line(line, "threads 0 to 6 and 8 to 31 wait") + "; thread 7 has returned");
}

TEST(TestedBlockTest, threadsThatWaitByDifferentCallsAreNamed) {
    int const line = __LINE__ + 3;
    std::string const text = barrier_error_of([&](unsigned) {
        if (block::thread_rank() < 2) {
            block::sync();
        } else {
            block::sync();
        }
    });
    EXPECT_SAYS(text, at_line(line, "threads 0 to 1 wait") + "; " +
                          at_line(line + 2, "threads 2 to 31 wait"));
}

TEST(TestedBlockTest, threadsWithUnequalNumbersOfBarriersAreNamed) {
    int const line = __LINE__ + 3;
    std::string const text = barrier_error_of([&](unsigned) {
        unsigned const barriers = block::thread_rank() == 3 ? 4 : 2;
        for (unsigned i = 0; i != barriers; ++i) block::sync();
    });
    EXPECT_SAYS(text, "threads 0 to 2 and 4 to 31 have returned after 2 barriers; " +
                          at_line(line, "thread 3 waits") + " after 2 barriers");
}

// In a kernel the threads that come back early meet the others at the library's own barrier.
struct ReturnsEarly {
    static constexpr unsigned threads = 64;
    CARILLON_HD int operator()(int request) const {
        if (request == 2 && block::thread_rank() >= 32) return 0;
        block::sync();
        return request;
    }
};

TEST(TestedBlockTest, handlerThatReturnsOnSomeThreadsOnlyIsAnErrorOfItsRequest) {
    EXPECT_EQ(run_block(ReturnsEarly(), 1), 1);
    CARILLON_EXPECT_ERROR(run_block(ReturnsEarly(), std::vector<int>{1, 2}), BarrierError,
                          "threads 32 to 63 have returned");
}

TEST(TestedBlockTest, errorNamesTheSeedThatShowsItAgain) {
    auto const body = [](unsigned) {
        // Wrong where the second thread is not the last one.
        static std::atomic<unsigned> arrived = 0;
        bool const last = ++arrived % 2 == 0;
        if (block::thread_rank() == 1 && !last) return;
        block::sync();
    };
    std::uint64_t seed = 0;
    try {
        run_body(body, {.threads = 2});
        ADD_FAILURE() << "no error";
    } catch (BarrierError const& error) {
        seed = error.seed();
    }
    EXPECT_NE(seed, 0U);
    CARILLON_EXPECT_ERROR(run_body(body, {.threads = 2, .first_seed = seed, .seeds = 1}),
                          BarrierError, "with seed " + std::to_string(seed));
}

TEST(TestedBlockTest, laneThatDoesNotComeToAVoteIsNamed) {
    EXPECT_SAYS(barrier_error_of([](unsigned) {
                    if (block::thread_rank() != 0) (void)WarpLanes::any(true);
                }),
                "thread 0 has returned; threads 1 to 31 wait at WarpLanes::any");
    EXPECT_SAYS(barrier_error_of([](unsigned) {
                    if (block::thread_rank() != 0) return block::sync();
                    (void)WarpLanes::broadcast(1);
                }),
                "thread 0 waits at WarpLanes::broadcast; threads 1 to 31 wait at block::sync");
    EXPECT_SAYS(barrier_error_of([](unsigned) {
                    (void)(block::thread_rank() == 9 ? WarpLanes::all(true) : WarpLanes::any(true));
                }),
                "thread 9 waits at WarpLanes::all");
}

TEST(TestedBlockTest, votesAreThoseOfTheWarp) {
    auto const body = [](unsigned) {
        unsigned const rank = block::thread_rank();
        unsigned const lanes = rank < 32 ? 32 : 8;  // of the second warp there are a few
        EXPECT_EQ(WarpLanes::size(), lanes);
        EXPECT_EQ(WarpLanes::thread_rank(), rank % 32);
        EXPECT_EQ(WarpLanes::all(rank < 32), rank < 32);
        EXPECT_EQ(WarpLanes::any(rank == 33), rank >= 32);
        EXPECT_EQ(WarpLanes::count(rank % 2 == 0), lanes / 2);
        EXPECT_EQ(WarpLanes::count_before(true), rank % 32);
        EXPECT_EQ(WarpLanes::broadcast(rank), rank / 32 * 32);
        WarpLanes::sync();
    };
    run_body(body, {.threads = 40, .seeds = 10});
}

// Reads a shared variable that nobody has written.
struct Unwritten {
    static constexpr unsigned threads = 2;
    CARILLON_HD unsigned operator()(int /*request*/) const {
        return block::shared<unsigned, Unwritten>();
    }
};

TEST(TestedBlockTest, sharedMemoryHasAnotherPatternInEverySeed) {
    EXPECT_EQ(run_block(Unwritten(), 1, {.first_seed = 0, .seeds = 1}), 0xA5A5A5A5U);
    EXPECT_EQ(run_block(Unwritten(), 1, {.first_seed = 1, .seeds = 1}), 0x5A5A5A5AU);
    CARILLON_EXPECT_ERROR(run_block(Unwritten(), 1), carillon::testing::RaceError,
                          "the reply to request 0 is 2779096485 with seed 0 and 1515870810 with "
                          "seed 1");
}

struct Halves {
    static constexpr unsigned threads = 2;
    bool one_byte_more = false;

    template <std::size_t bytes>
    struct Bytes {
        unsigned char byte[bytes];
    };
    CARILLON_HD bool operator()(int /*request*/) const {
        constexpr std::size_t half = 24 * 1024;
        unsigned const rank = block::thread_rank();
        block::shared<Bytes<half>, struct First>().byte[rank * (half - 1)] = 1;
        block::shared<Bytes<half>, struct Second>().byte[rank * (half - 1)] = 1;
        if (one_byte_more) block::shared<Bytes<1>, struct Third>().byte[0] = 1;
        return true;
    }
};

TEST(TestedBlockTest, sharedMemoryIsThatOfABlock) {
    EXPECT_TRUE(run_block(Halves(), 1));
    CARILLON_EXPECT_ERROR(run_block(Halves{.one_byte_more = true}, 1), UsageError,
                          "a shared variable of 1 bytes, aligned to 1, does not fit after 2 "
                          "variables of 49152 bytes");
}

// TMA needs tiles that are aligned to 1024 bytes.
template <std::size_t alignment>
struct Aligned {
    CARILLON_HD bool operator()(int /*request*/) const {
        struct alignas(alignment) Tile {
            char byte[alignment];
        };
        block::shared<char, struct Before>() = 1;
        auto const* const first = &block::shared<Tile, struct First>();
        auto const* const second = &block::shared<Tile, struct Second>();
        return is_aligned(first) && is_aligned(second) && first != second;
    }
    static bool is_aligned(void const* where) {
        return reinterpret_cast<std::uintptr_t>(where) % alignment == 0;
    }
};

TEST(TestedBlockTest, sharedVariablesAreAlignedTo1024BytesAtMost) {
    EXPECT_TRUE(run_block(Aligned<512>(), 1));
    EXPECT_TRUE(run_block(Aligned<1024>(), 1));
    CARILLON_EXPECT_ERROR(run_block(Aligned<2048>(), 1), UsageError,
                          "an alignment of at most 1024");
}

// Before each aligned variable there is a gap, of nearly its size.
template <std::size_t number>
struct Tile {
    alignas(1024) char byte[1024];
};
struct Gaps {
    CARILLON_HD bool operator()(int /*request*/) const {
        write(std::make_index_sequence<47>());
        return true;
    }
    template <std::size_t... i>
    static void write(std::index_sequence<i...> /*numbers*/) {
        ((block::shared<char, Tile<i>>() = block::shared<Tile<i>, Gaps>().byte[1023] = 1), ...);
    }
};

TEST(TestedBlockTest, gapsBetweenSharedVariablesTakeNothingFromTheBlock) {
    EXPECT_TRUE(run_block(Gaps(), 1));
}

// The test's own calls are block 0's, before and after.
TEST(TestedBlockTest, indexOfTheBlockEndsWithIt) {
    auto const body = [](unsigned number) { EXPECT_EQ(block::index(), number); };
    run_body(body, {.block = 7}, [](std::uint64_t) { EXPECT_EQ(block::index(), 0U); });
    EXPECT_EQ(block::index(), 0U);
    CARILLON_EXPECT_ERROR(run_body([](unsigned) { throw std::runtime_error("it"); }, {.block = 7}),
                          std::runtime_error, "it");
    EXPECT_EQ(block::index(), 0U);
}

// A sum for each of 16 threads, and the handler has 32.
struct Beyond {
    static constexpr unsigned threads = 32;
    CARILLON_HD int operator()(int request) const {
        struct Sums {
            int of[16];
        };
        int* const of = block::shared<Sums, Sums>().of;  // of which no compiler knows how many
        of[block::thread_rank()] = request;
        return request;
    }
};

TEST(TestedBlockDeathTest, writeBeyondASharedVariableIsReportedByTheAddressSanitizer) {
#if CARILLON_ADDRESS_SANITIZER
    EXPECT_DEATH((void)run_block(Beyond(), 1), "AddressSanitizer: use-after-poison");
#else
    (void)Beyond();
    GTEST_SKIP() << "not built with the address sanitizer";
#endif
}

TEST(TestedBlockTest, whatAThreadThrowsEndsTheBlock) {
    bool thrown = false;
    auto const body = [&](unsigned) {
        if (block::thread_rank() == 5 && !thrown) {
            thrown = true;
            throw std::runtime_error("thread 5");
        }
        block::sync();
        EXPECT_FALSE(thrown) << "a thread passed the barrier";
    };
    CARILLON_EXPECT_ERROR(run_body(body, {.threads = 8}), std::runtime_error, "thread 5");
}

// An exception must not come through functions that may not throw.
TEST(TestedBlockTest, bodyThatMayNotThrowFailsToo) {
    auto const body = [](unsigned) noexcept {
        if (block::thread_rank() != 0) block::sync();
    };
    EXPECT_SAYS(barrier_error_of(body), "thread 0 has returned; threads 1 to 31 wait at");
}

// The block can be used again behind each of them.
TEST(TestedBlockTest, whatCannotBeRunIsRefused) {
    auto const nothing = [](unsigned) {};
    CARILLON_EXPECT_ERROR(run_body(nothing, {.threads = 1025}), UsageError, "1025 threads");
    CARILLON_EXPECT_ERROR(run_body(nothing, {.seeds = 0}), UsageError, "BlockOptions::seeds is 0");
    for (std::size_t const bytes : {std::size_t{0}, std::size_t{4096}, ~std::size_t{0}}) {
        CARILLON_EXPECT_ERROR(run_body(nothing, {.stack_bytes = bytes}), UsageError, "stacks of");
    }
    CARILLON_EXPECT_ERROR(run_body([&](unsigned) { run_body(nothing); }), UsageError,
                          "a thread of a tested block cannot call this");
    run_body(nothing);
}

// Runs before each request, by all threads together.
struct Idles {
    static constexpr unsigned threads = 8;
    int idles = 0;
    CARILLON_HD int operator()(int request) const { return 100 * idles + request; }
    CARILLON_HD void idle() {
        block::sync();
        ++idles;
    }
};
struct IdlesApart : Idles {
    CARILLON_HD void idle() {
        if (block::thread_rank() == 0) block::sync();
    }
};

TEST(TestedBlockTest, idleIsRunToo) {
    EXPECT_EQ(run_block(Idles(), std::vector{1, 2}), (std::vector{101, 202}));
    EXPECT_THROW((void)run_block(IdlesApart(), 1), BarrierError);
}

// Some would compile for a kernel alone.
struct ConstMember {
    int const value;
};
struct OwnAddress {
    int value;
    OwnAddress const* operator&() const = delete;  // NOLINT(google-runtime-operator)
};
template <class Message>
struct Echoes {
    static constexpr unsigned threads = 4;
    CARILLON_HD Message operator()(Message const& message) const { return message; }
};

TEST(TestedBlockTest, messagesNeedNoAssignmentAndMayHaveAnAddressOfTheirOwn) {
    EXPECT_EQ(run_block(Echoes<ConstMember>(), ConstMember{3}).value, 3);
    EXPECT_EQ(run_block(Echoes<OwnAddress>(), OwnAddress{4}).value, 4);
}

struct Decides {
    static constexpr unsigned threads = 32;
    using Commands = carillon::Commands<int, bool>;
    CARILLON_HD void operator()(bool /*command*/) const {}
    CARILLON_HD Outcome<int> operator()(int command) const {
        if (command < 0) return Refusal{7};
        return command;
    }
};

TEST(TestedBlockTest, commandsAreHandledToo) {
    EXPECT_EQ(run_block(Decides(), true), Done());
    EXPECT_EQ(run_block(Decides(), 3).reply(), 3);
    EXPECT_EQ(run_block(Decides(), -1).refusal().code, 7U);
}

}  // namespace
}  // namespace carillon::test
