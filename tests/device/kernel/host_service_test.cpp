// SPDX-License-Identifier: Apache-2.0
// Kernels that ask the host: each call gets its own answer, or returns why there is none.
#include "carillon/host_service.hpp"

#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "carillon/cores.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "support/captured_stderr.hpp"
#include "support/store_kinds.hpp"

namespace carillon::test {
using namespace detail;

// 40 bytes each, the most there is.
struct HostQuestion {
    std::uint64_t asker;
    std::uint64_t index;
    std::uint64_t check[3];

    CARILLON_HD static HostQuestion make(std::uint64_t asker, std::uint64_t index) {
        return {asker, index, {asker + 1, index + 2, asker * index}};
    }
    CARILLON_HD bool operator==(HostQuestion const& other) const {
        return asker == other.asker && index == other.index && check[0] == other.check[0] &&
               check[1] == other.check[1] && check[2] == other.check[2];
    }
};
using AskingService = HostService<HostQuestion, HostQuestion>;
using PostingService = HostService<HostQuestion, void>;

inline constexpr std::uint64_t long_timeout_ns = 20'000'000'000;

// The results of one thread's calls, in host memory.
struct alignas(64) CallTally {
    std::uint64_t results[4];  // by HostCallResult
    std::uint64_t wrong;       // answered otherwise than by what the question asked for
};

// Every thread makes `count` calls. The right answer is the question the other way round.
struct CallHostBody {
    AskingService::Caller host;
    CallTally* tallies;
    std::uint64_t count;

    CARILLON_HD void operator()(unsigned /*block*/) {
        std::uint64_t const asker = block::index() * block::size() + block::thread_rank();
        CallTally tally{};
        for (std::uint64_t i = 0; i < count; ++i) {
            HostQuestion answer{};
            auto const result = host.call(HostQuestion::make(asker, i), answer, long_timeout_ns);
            ++tally.results[static_cast<unsigned>(result)];
            bool const right = answer == HostQuestion::make(i, asker);
            if (result == HostCallResult::answered && !right) ++tally.wrong;
        }
        DeviceFar const far;
        for (int i = 0; i < 4; ++i) far.store_word(&tallies[asker].results[i], tally.results[i]);
        far.store_word(&tallies[asker].wrong, tally.wrong);
    }
};

// Every thread posts `count` questions, each until there is room or, if it is impatient, once.
struct PostHostBody {
    PostingService::Caller host;
    std::uint64_t* posted;  // by all threads, in device memory
    std::uint64_t count;
    bool patient;

    CARILLON_HD void operator()(unsigned /*block*/) {
        std::uint64_t const asker = block::index() * block::size() + block::thread_rank();
        for (std::uint64_t i = 0; i < count; ++i) {
            BodyPatience waiting;
            bool sent = host.post(HostQuestion::make(asker, i));
            while (!sent && patient && waiting.more()) {
                sent = host.post(HostQuestion::make(asker, i));
            }
            if (sent) (void)DeviceNear().fetch_add(posted, 1);
        }
    }
};

// The host chooses the question, and the timeout.
struct AskRequest {
    std::uint64_t value;
    std::uint64_t timeout_ns;
};
struct AskOutcome {
    HostCallResult result;
    std::uint64_t value;
};
using NumberService = HostService<std::uint64_t, std::uint64_t>;
struct AskHostHandler {
    NumberService::Caller host;

    CARILLON_HD AskOutcome operator()(AskRequest const& request) {
        AskOutcome outcome{HostCallResult::no_room, 0};
        outcome.result = host.call(request.value, outcome.value, request.timeout_ns);
        return outcome;
    }
};

namespace {

constexpr std::uint64_t soon_ns = 2'000'000;

// A gate that a service's function waits at; it may outlive its test.
struct FunctionGate {
    std::atomic<bool> open = false;
    std::atomic<std::uint64_t> entered = 0;
    std::atomic<std::uint64_t> left = 0;

    void pass() {
        ++entered;
        EXPECT_TRUE(eventually([this] { return open.load(); }));
        ++left;
    }
};

HostQuestion turned(HostQuestion const& question) {
    EXPECT_EQ(question, HostQuestion::make(question.asker, question.index));
    return HostQuestion::make(question.index, question.asker);
}

class HostServiceTest : public KernelTest {
   protected:
    void expect_calls(HostServiceOptions const& options, LaunchShape shape, std::uint64_t count) {
        std::atomic<std::uint64_t> served = 0;
        AskingService const service(
            device(),
            [&](HostQuestion const& question) {
                ++served;
                return turned(question);
            },
            options);
        unsigned const threads =
            shape.blocks * (device().traits().one_thread_a_block ? 1 : shape.threads);
        Memory const memory = device().allocate_host(threads * sizeof(CallTally));
        auto const kernel =
            launch(device(), shape,
                   CallHostBody{service.device_handle(),
                                static_cast<CallTally*>(memory.device_ptr()), count});
        ASSERT_TRUE(kernel.wait(patience));
        auto const* const tallies = static_cast<CallTally const*>(memory.host_ptr());
        for (unsigned i = 0; i < threads; ++i) {
            ASSERT_EQ(tallies[i].results[0], count) << i;
            ASSERT_EQ(tallies[i].wrong, 0U) << i;
        }
        EXPECT_EQ(served, threads * count);
        EXPECT_EQ(service.failures(), 0U);
        EXPECT_NO_THROW(service.rethrow_failure());
    }

    [[nodiscard]] std::uint64_t run_posts(PostingService const& service, LaunchShape shape,
                                          std::uint64_t count, bool patient) {
        Memory const posted = device().allocate(sizeof(Line));
        auto const kernel =
            launch(device(), shape,
                   PostHostBody{service.device_handle(),
                                static_cast<std::uint64_t*>(posted.device_ptr()), count, patient});
        EXPECT_TRUE(kernel.wait(patience_of_posts));
        return HostCached(posted.range_sync())
            .load_word(static_cast<std::uint64_t const*>(posted.host_ptr()));
    }
    static constexpr auto patience_of_posts = patience;

    static AskOutcome ask(PersistentKernel<AskHostHandler>& kernel, std::uint64_t value,
                          std::uint64_t timeout_ns) {
        return kernel.channel().call({value, timeout_ns}, patience);
    }
};
CARILLON_ON_EVERY_DEVICE(HostServiceTest);

TEST_P(HostServiceTest, threadsOfSeveralBlocksGetTheirOwnAnswers) {
    expect_calls({}, {.blocks = 4, .threads = 32}, 300);
}

TEST_P(HostServiceTest, callersTakeTurnsAtFewerSlotsThanThereAreCallers) {
    expect_calls({.callers = 3, .capacity = 32}, {.blocks = 4, .threads = 8}, 200);
}

// Fewer calls where each needs two changes of thread: beside other work one takes a millisecond.
TEST_P(HostServiceTest, thousandsOfCallsGoAroundTheRingAndAcrossTheTagsWrap) {
    expect_calls({.callers = 2, .capacity = 32, .for_tests = {.first = (Sequence{1} << 32) - 63}},
                 {}, on_gpu() ? 20'000 : 2'000);
}

TEST_P(HostServiceTest, threadThatSleepsOrNeverSleepsAnswersAllTheSame) {
    expect_calls({.thread = {.spin = 0ns, .sleep = 100us}}, {.blocks = 2}, 20);
    expect_calls({.thread = {.sleep = 0ns, .wait = HostWait::Style::yield}}, {.blocks = 2}, 20);
}

TEST_P(HostServiceTest, everyWayToStore) {
    for (HostStores const stores : all_stores()) {
        if (!why_not(stores).empty()) continue;
        if (on_gpu() && stores.kind == StoreKind::cached) continue;
        SCOPED_TRACE(name_of(stores));
        device().set_stores(stores);
        expect_calls({.callers = 2}, {.blocks = 3}, 100);
    }
}

TEST_P(HostServiceTest, throughMemoryThatIsNotCoherent) {
    if (GetParam() == std::string("emulated")) {
        GTEST_SKIP() << "memfd memory cannot be non-coherent";
    }
    open({.force_non_coherent = true});
    expect_calls({.callers = 3, .capacity = 32}, {.blocks = 3}, 100);
}

TEST_P(HostServiceTest, postsAreServedOnceEachInTheOrderOfTheirThread) {
    constexpr std::uint64_t count = 500;
    LaunchShape const shape{.blocks = 3, .threads = 32};
    std::vector<std::uint64_t> next(shape.blocks * shape.threads);
    std::uint64_t posted = 0;
    {
        PostingService const service(device(),
                                     [&](HostQuestion const& question) {
                                         EXPECT_EQ(question.index, next.at(question.asker)++);
                                     },
                                     {.capacity = 64});
        posted = run_posts(service, shape, count, true);
        service.flush(patience);
        EXPECT_EQ(service.failures(), 0U);
    }
    std::uint64_t served = 0;
    for (std::uint64_t const each : next) served += each;
    EXPECT_EQ(served, posted);
    EXPECT_EQ(served,
              count * shape.blocks * (device().traits().one_thread_a_block ? 1 : shape.threads));
}

TEST_P(HostServiceTest, postWithoutRoomIsRefusedAtOnce) {
    constexpr std::uint64_t capacity = 32;
    FunctionGate gate;
    std::atomic<std::uint64_t> served = 0;
    PostingService const service(device(),
                                 [&](HostQuestion const&) {
                                     gate.pass();
                                     ++served;
                                 },
                                 {.capacity = capacity});
    EXPECT_EQ(run_posts(service, {}, 100, false), capacity);
    CARILLON_EXPECT_ERROR(service.flush(1ms), TimeoutError, "HostService::flush: after 1 ms");
    gate.open = true;
    service.flush(patience);
    EXPECT_EQ(served, capacity);
}

TEST_P(HostServiceTest, lateAnswerIsDroppedAndItsSlotTakenAfterIt) {
    FunctionGate gate;
    std::vector<std::uint64_t> served;
    NumberService const service(device(),
                                [&](std::uint64_t value) {
                                    gate.pass();
                                    served.push_back(value);
                                    return 10 * value;
                                },
                                {.callers = 1});
    PersistentKernel<AskHostHandler> kernel(device(), {}, {service.device_handle()});
    EXPECT_EQ(ask(kernel, 1, soon_ns).result, HostCallResult::timed_out);
    EXPECT_EQ(ask(kernel, 2, soon_ns).result, HostCallResult::no_room);
    EXPECT_EQ(ask(kernel, 3, 0).result, HostCallResult::no_room);
    gate.open = true;
    AskOutcome const outcome = ask(kernel, 4, long_timeout_ns);
    EXPECT_EQ(outcome.result, HostCallResult::answered);
    EXPECT_EQ(outcome.value, 40U);
    kernel.drain(patience);
    service.flush(patience);
    EXPECT_EQ(served, (std::vector<std::uint64_t>{1, 4}));
}

// Late answers, among others that come in time, to calls that give up at any moment.
TEST_P(HostServiceTest, noAnswerIsMistakenForAnother) {
    std::atomic<std::uint64_t> delay_us = 0;
    NumberService const service(
        device(),
        [&](std::uint64_t value) {
            std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
            return 10 * value;
        },
        {.callers = 2, .thread = {.sleep = 0ns}, .for_tests = {.first = (Sequence{1} << 32) - 63}});
    PersistentKernel<AskHostHandler> kernel(device(), {}, {service.device_handle()});
    std::uint64_t results[4]{};
    for (std::uint64_t i = 1; i <= 300; ++i) {
        delay_us = i % 7 * 20;
        AskOutcome const outcome = ask(kernel, i, i % 3 * 60'000);
        ++results[static_cast<unsigned>(outcome.result)];
        ASSERT_EQ(outcome.value, outcome.result == HostCallResult::answered ? 10 * i : 0);
    }
    EXPECT_EQ(results[static_cast<unsigned>(HostCallResult::failed)], 0U);
    AskOutcome const last = ask(kernel, 301, long_timeout_ns);
    EXPECT_EQ(last.value, 3010U);
}

TEST_P(HostServiceTest, functionThatThrowsFailsItsCallAndTheServiceGoesOn) {
    NumberService const service(device(), [](std::uint64_t value) {
        if (value >= 7) throw std::domain_error(value == 7 ? "seven" : "over seven");
        return 10 * value;
    });
    PersistentKernel<AskHostHandler> kernel(device(), {}, {service.device_handle()});
    EXPECT_EQ(ask(kernel, 6, long_timeout_ns).value, 60U);
    EXPECT_EQ(service.failures(), 0U);
    EXPECT_EQ(ask(kernel, 7, long_timeout_ns).result, HostCallResult::failed);
    EXPECT_EQ(ask(kernel, 8, long_timeout_ns).result, HostCallResult::failed);
    EXPECT_EQ(ask(kernel, 5, long_timeout_ns).value, 50U);
    EXPECT_EQ(service.failures(), 2U);
    CARILLON_EXPECT_ERROR(service.rethrow_failure(), std::domain_error, "seven");
}

TEST_P(HostServiceTest, failureIsCountedBeforeItsCallEnds) {
    NumberService const service(
        device(), [](std::uint64_t) -> std::uint64_t { throw std::domain_error("always"); },
        {.thread = {.sleep = 0ns}});
    PersistentKernel<AskHostHandler> kernel(device(), {}, {service.device_handle()});
    for (std::uint64_t i = 1; i <= 3000; ++i) {
        ASSERT_EQ(ask(kernel, i, long_timeout_ns).result, HostCallResult::failed);
        ASSERT_EQ(service.failures(), i);
    }
}

TEST_P(HostServiceTest, callsEndWhenTheServiceHasGone) {
    auto service = std::make_unique<NumberService>(
        device(), [](std::uint64_t value) { return 10 * value; }, HostServiceOptions{.callers = 2});
    PersistentKernel<AskHostHandler> kernel(device(), {}, {service->device_handle()});
    EXPECT_EQ(ask(kernel, 1, long_timeout_ns).value, 10U);
    service.reset();
    EXPECT_EQ(ask(kernel, 2, soon_ns).result, HostCallResult::timed_out);
    EXPECT_EQ(ask(kernel, 3, soon_ns).result, HostCallResult::timed_out);
    EXPECT_EQ(ask(kernel, 4, soon_ns).result, HostCallResult::no_room);
    kernel.stop(patience);
}

TEST_P(HostServiceTest, destructorServesWhatWasSent) {
    constexpr std::uint64_t count = 200;
    std::uint64_t served = 0;
    {
        PostingService const service(
            device(), [&](HostQuestion const&) { ++served; },
            {.thread = {.spin = 0ns, .sleep = 10s, .stop_timeout = patience}});
        EXPECT_EQ(run_posts(service, {}, count, true), count);
    }
    EXPECT_EQ(served, count);
}

TEST_P(HostServiceTest, destructorLeavesAFunctionBehindThatDoesNotReturn) {
    auto const gate = std::make_shared<FunctionGate>();
    auto service = std::make_unique<PostingService>(
        device(), [gate](HostQuestion const&) { gate->pass(); },
        HostServiceOptions{.thread = {.stop_timeout = 5ms}});
    EXPECT_EQ(run_posts(*service, {}, 1, true), 1U);
    ASSERT_TRUE(eventually([&] { return gate->entered == 1; }));
    testing::internal::CaptureStderr();
    service.reset();
    EXPECT_NE(captured_stderr().find("the function of a HostService had not"), std::string::npos);
    gate->open = true;
    EXPECT_TRUE(eventually([&] { return gate->left == 1; }));
}

// Runs in a process of its own, which ends with 7 if the library said nothing of a service whose
// function ends the process.
[[noreturn]] void exit_within_a_function(Device const& device) {
    testing::internal::CaptureStderr();
    (void)std::atexit([] { std::_Exit(captured_stderr().empty() ? 7 : 2); });
    static std::optional<NumberService> service;  // goes before that
    service.emplace(device, [](std::uint64_t value) {
        if (value == 1) std::exit(1);  // NOLINT(concurrency-mt-unsafe)
        return value;
    });
    PersistentKernel<AskHostHandler> kernel(device, {.lifetime = 20s}, {service->device_handle()});
    (void)kernel.channel().submit({1, soon_ns}, patience);
    (void)eventually([] { return false; });
    std::_Exit(3);
}

// Catches a thread that waits for itself: in the end it says that a function has not returned.
TEST_P(HostServiceTest, functionMayExit) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_EXIT(exit_within_a_function(device()), testing::ExitedWithCode(7), "");
}

TEST_P(HostServiceTest, functionMayLetItsServiceGo) {
    std::optional<NumberService> service;
    std::atomic<bool> gone{false};
    service.emplace(device(), [&](std::uint64_t value) {
        service.reset();
        gone = true;
        return value;
    });
    PersistentKernel<AskHostHandler> kernel(device(), {}, {service->device_handle()});
    testing::internal::CaptureStderr();
    (void)kernel.channel().submit({1, soon_ns}, patience);
    EXPECT_TRUE(eventually([&] { return gone.load(); }));
    EXPECT_EQ(captured_stderr(), "");
    kernel.stop(patience);
}

TEST_P(HostServiceTest, itsThreadLeavesACoreThatItsOwnerIsPinnedTo) {
    std::vector<unsigned> const cores = allowed_cores();
    if (cores.size() < 2) GTEST_SKIP() << "there is one core only";
    OnCore const pinned(cores.back());
    std::vector<unsigned> seen;
    PostingService const service(device(), [&](HostQuestion const&) { seen = allowed_cores(); });
    EXPECT_EQ(run_posts(service, {}, 1, true), 1U);
    service.flush(patience);
    EXPECT_EQ(seen, std::vector<unsigned>(cores.begin(), cores.end() - 1));
}

TEST_P(HostServiceTest, refusesWhatMakesNoSense) {
    auto const function = [](std::uint64_t value) { return value; };
    CARILLON_EXPECT_ERROR(NumberService(device(), nullptr), UsageError,
                          "HostService: the function that serves requests is empty");
    CARILLON_EXPECT_ERROR(NumberService(device(), function, {.callers = 0}), UsageError,
                          "HostService: 0 reply slots requested");
    CARILLON_EXPECT_ERROR(NumberService(device(), function, {.capacity = 100}), UsageError,
                          "HostService: a capacity of 100");
    CARILLON_EXPECT_ERROR(NumberService(device(), function, {.capacity = 16}), UsageError,
                          "HostService: a capacity of 16 is too small");
}

}  // namespace
}  // namespace carillon::test
