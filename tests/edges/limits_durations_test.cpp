// SPDX-License-Identifier: Apache-2.0
// Every duration at its limits: 0 or less looks once, the longest is for ever (deadline.hpp).
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "carillon/detail/host/deadline.hpp"
#include "device/bodies.hpp"
#include "device/device_fixture.hpp"
#include "device/gate.hpp"
#include "edges/limits.hpp"
#include "support/captured_stderr.hpp"

namespace carillon::test {
using namespace detail;

// Asks the host for as long as the request says.
using EchoService = HostService<std::uint64_t, std::uint64_t>;
struct AskForHandler {
    EchoService::Caller host;

    CARILLON_HD HostCallResult operator()(std::uint64_t const& timeout_ns) {
        std::uint64_t answer = 0;
        return host.call(timeout_ns, answer, timeout_ns);
    }
};

struct WaitBody {
    std::uint64_t const* gate;

    CARILLON_HD void operator()(unsigned /*block*/) const { wait_at(gate, 1); }
};

namespace {

constexpr auto longest = std::chrono::nanoseconds::max();
constexpr auto shortest = std::chrono::nanoseconds::min();

class LimitsOfDurationsTest : public KernelTest {};
CARILLON_ON_EVERY_DEVICE(LimitsOfDurationsTest);

TEST(DeadlineTest, whatTheClockCannotReachIsNever) {
    EXPECT_FALSE(Deadline(longest).passed());
    EXPECT_EQ(Deadline(longest).left(), longest);
    EXPECT_EQ((Deadline(longest) + longest).left(), longest);
    EXPECT_FALSE((Deadline(longest) + shortest).passed());
    EXPECT_FALSE(Deadline(1h).passed());
    EXPECT_GT(Deadline(1h).left(), 30min);
    EXPECT_GT((Deadline(1h) + 1h).left(), 90min);
}

TEST(DeadlineTest, whatIsNotAheadHasPassed) {
    for (auto const timeout : {0ns, -1ns, shortest}) {
        EXPECT_TRUE(Deadline(timeout).passed()) << timeout.count();
        EXPECT_EQ(Deadline(timeout).left(), 0ns) << timeout.count();
        EXPECT_TRUE((Deadline(timeout) + timeout).passed()) << timeout.count();
    }
}

// The ends of a channel and of a pool are called alike.
template <class End>
void try_end(std::string const& name, End& end) {
    auto const either = Expected::behaves_or_times_out();
    try_durations(name + "::call", either, [&](auto timeout) { return end.call({1, 0}, timeout); });
    try_durations(name + "::submit", Expected::behaves(), [&](auto timeout) {
        return end.wait(end.submit({1, 0}, timeout), patience).value == 4;
    });
    try_durations(name + "::wait", either, [&](auto timeout) {
        auto const ticket = end.submit({1, 0}, patience);
        try {
            return end.wait(ticket, timeout).value == 4;
        } catch (TimeoutError const&) {
            if (end.wait(ticket, patience).value == 4) throw;
            return false;
        }
    });
}

// Tries an end while a gate keeps the kernel from answering, until there is no room either.
template <class End>
void try_held_up_end(std::string const& name, End& end) {
    auto const late = Expected::timeout("Client::");
    auto const first = end.submit({1, 1}, patience);
    try_short_durations(name + "::wait, no reply", late,
                        [&](auto timeout) { return end.wait(first, timeout); });
    try_short_durations(name + "::call, no reply", late, [&](auto timeout) {
        return end.call({1, 1}, timeout);
    });
    while (end.try_submit({1, 1})) {
    }
    try_short_durations(name + "::submit, no room", late, [&](auto timeout) {
        return end.submit({1, 1}, timeout);
    });
    try_short_durations(name + "::call, no room", late, [&](auto timeout) {
        return end.call({1, 1}, timeout);
    });
}

TEST_P(LimitsOfDurationsTest, endsOfChannelsAndPools) {
    Gate gate(device());
    GatedHandler const handler{gate.device_view()};
    PersistentKernel<GatedHandler> kernel(device(), {.capacity = 8}, handler);
    PersistentKernel<GatedHandler, Pool> const pooled(device(), {.pool = {.replies = 8}}, handler);
    auto client = pooled.client();
    try_end("Client of a channel", kernel.channel());
    try_end("Client of a pool", client);
    try_held_up_end("Client of a channel", kernel.channel());
    try_held_up_end("Client of a pool", client);
    gate.open(1);
}

TEST_P(LimitsOfDurationsTest, endsOfKernels) {
    auto const either = Expected::behaves_or_times_out();
    using Kernel = PersistentKernel<GatedHandler>;
    using Pooled = PersistentKernel<GatedHandler, Pool>;
    try_durations("PersistentKernel::stop", either,
                  [&](auto timeout) { Kernel(device()).stop(timeout); });
    try_durations("PersistentKernel::drain", either,
                  [&](auto timeout) { Kernel(device()).drain(timeout); });
    try_durations("PersistentKernel::stop, of a pool", either,
                  [&](auto timeout) { Pooled(device()).stop(timeout); });
    try_durations("PersistentKernel::drain, of a pool", either,
                  [&](auto timeout) { Pooled(device()).drain(timeout); });
    try_durations("DeviceReader::stop", either,
                  [&](auto timeout) { DeviceReader(device()).stop(timeout); });
    try_durations("DeviceWriter::stop", either,
                  [&](auto timeout) { DeviceWriter(device()).stop(timeout); });
}

TEST_P(LimitsOfDurationsTest, drainOfAKernelThatIsNotDone) {
    Gate gate(device());
    PersistentKernel<GatedHandler> kernel(device(), {}, {gate.device_view()});
    (void)kernel.channel().submit({1, 1}, patience);
    try_short_durations("PersistentKernel::drain, unanswered",
                        Expected::timeout("PersistentKernel::drain: "),
                        [&](auto timeout) { kernel.drain(timeout); });
    std::jthread const opener([&] { gate.open(1); });
    try_limit(
        {"PersistentKernel::drain, max", Expected::behaves(), [&] { kernel.drain(longest); }});
}

TEST_P(LimitsOfDurationsTest, runningKernel) {
    Gate gate(device());
    auto const kernel = launch(device(), 1, WaitBody{gate.device_view()});
    try_short_durations("RunningKernel::wait", Expected::behaves(),
                        [&](auto timeout) { return !kernel.wait(timeout); });
    std::jthread const opener([&] { gate.open(1); });
    try_limit(
        {"RunningKernel::wait, max", Expected::behaves(), [&] { return kernel.wait(longest); }});
}

// Whether the call leaves nothing behind, which it would report on stderr.
template <class Call>
bool is_silent(Call const& call) {
    testing::internal::CaptureStderr();
    call();
    return captured_stderr().empty();
}

TEST_P(LimitsOfDurationsTest, timeoutsOfAKernelsStartAndEnd) {
    using Kernel = PersistentKernel<GatedHandler>;
    auto const start = Expected::behaves_or_times_out();
    try_durations("KernelOptions::start_timeout", start,
                  [&](auto timeout) { Kernel(device(), {.start_timeout = timeout}); });
    try_durations("KernelOptions::stop_timeout", Expected::behaves(), [&](auto timeout) {
        return is_silent([&] { Kernel(device(), {.stop_timeout = timeout}); });
    });
    try_durations("DeviceReaderOptions::start_timeout", start,
                  [&](auto timeout) { DeviceReader(device(), {.start_timeout = timeout}); });
    try_durations("DeviceReaderOptions::stop_timeout", Expected::behaves(), [&](auto timeout) {
        return is_silent([&] { DeviceReader(device(), {.stop_timeout = timeout}); });
    });
    try_durations("DeviceWriterOptions::start_timeout", start,
                  [&](auto timeout) { DeviceWriter(device(), {.start_timeout = timeout}); });
    try_durations("DeviceWriterOptions::stop_timeout", Expected::behaves(), [&](auto timeout) {
        return is_silent([&] { DeviceWriter(device(), {.stop_timeout = timeout}); });
    });
}

// With the default timeout the kernel would be left behind after a second.
TEST_P(LimitsOfDurationsTest, kernelIsWaitedForAsLongAsItTakes) {
    Gate gate(device());
    auto const wait_for_busy = [&] {
        std::jthread opener;
        PersistentKernel<GatedHandler> kernel(device(), {.stop_timeout = longest},
                                              {gate.device_view()});
        (void)kernel.channel().submit({1, 1}, patience);
        opener = std::jthread([&] {
            std::this_thread::sleep_for(1300ms);
            gate.open(1);
        });
    };
    try_limit({"KernelOptions::stop_timeout, max, a busy kernel", Expected::behaves(),
               [&] { return is_silent(wait_for_busy); }});
}

TEST_P(LimitsOfDurationsTest, lifeOfAKernel) {
    using Kernel = PersistentKernel<GatedHandler>;
    auto const lives = [&](auto lifetime) {
        return Kernel(device(), {.lifetime = lifetime}).channel().call({1, 0}, patience).value == 4;
    };
    auto const ends = [&] {
        Kernel const kernel(device(), {.lifetime = 1ns});
        return eventually([&] { return !kernel.running(); });
    };
    auto const limited = [&](auto limit) {
        return Kernel(device(), {.host_limit = limit}).channel().call({1, 0}, patience).value == 4;
    };
    auto const lifetime = Expected::usage("PersistentKernel: a lifetime of ");
    auto const limit = Expected::usage("PersistentKernel: a host_limit of ");
    try_limits({{"lifetime, 0", Expected::behaves(), [&] { return lives(0ns); }},
                {"lifetime, -1 ns", lifetime, [&] { return lives(-1ns); }},
                {"lifetime, 1 ns", Expected::behaves(), ends},
                {"lifetime, min", lifetime, [&] { return lives(shortest); }},
                {"lifetime, max", Expected::behaves(), [&] { return lives(longest); }},
                {"lifetime of a reader, -1 ns", Expected::usage("a lifetime of "),
                 [&] { DeviceReader(device(), {.lifetime = -1ns}); }},
                {"lifetime of a writer, -1 ns", Expected::usage("a lifetime of "),
                 [&] { DeviceWriter(device(), {.lifetime = -1ns}); }},
                {"host_limit, 0", Expected::behaves(), [&] { return limited(0ns); }},
                {"host_limit, -1 ns", limit, [&] { return limited(-1ns); }},
                {"host_limit, 1 ns", limit, [&] { return limited(1ns); }},
                {"host_limit, min", limit, [&] { return limited(shortest); }},
                {"host_limit, max", Expected::behaves(), [&] { return limited(longest); }}});
    try_durations("stuck_after", Expected::behaves(), [&](auto after) {
        return Kernel(device(), {.stuck_after = after}).activity() == BlockActivity::idle;
    });
}

TEST_P(LimitsOfDurationsTest, sleepsOfAKernel) {
    constexpr std::uint32_t longest_sleep = most<std::uint32_t>;
    auto const answers = [&](IdlePolicy idle) {
        PersistentKernel<GatedHandler> kernel(device(), {.idle = idle});
        return kernel.channel().call({1, 0}, patience).value == 4;
    };
    auto const too_long = Expected::usage("PersistentKernel: a sleep of ");
    try_limits({{"idle, no polls", Expected::behaves(),
                 [&] {
                     return answers({0, 1});
                 }},
                {"idle, most polls", Expected::behaves(),
                 [&] {
                     return answers({longest_sleep, 1});
                 }},
                {"idle, 1 ms", Expected::behaves(),
                 [&] {
                     return answers({0, 1'000'000});
                 }},
                {"idle, more", too_long,
                 [&] {
                     return answers({0, 1'000'001});
                 }},
                {"idle, most", too_long, [&] {
                     return answers({0, longest_sleep});
                 }}});
}

TEST_P(LimitsOfDurationsTest, reads) {
    Memory const memory = device().allocate(4096);
    DeviceReader reader(device());
    for (std::size_t const size : {std::size_t{8}, memory.size()}) {
        try_durations("DeviceReader::read", Expected::behaves_or_times_out(), [&](auto timeout) {
            return reader.read(memory, 0, size, timeout).size() == size;
        });
    }
}

TEST_P(LimitsOfDurationsTest, writes) {
    Memory const to = device().allocate(100'000);
    Memory const from = device().allocate_host(100'000);
    std::span const bytes(static_cast<std::byte const*>(from.host_ptr()), from.size());
    DeviceWriter writer(device(), {.chunk = 4096});
    auto const either = Expected::behaves_or_times_out();
    try_durations("DeviceWriter::write", either,
                  [&](auto timeout) { writer.write(to, 0, from, 0, to.size(), timeout); });
    try_durations("DeviceWriter::write, of any memory", either,
                  [&](auto timeout) { writer.write(to, 0, bytes, timeout); });
    try_durations("DeviceWriter::submit", either,
                  [&](auto timeout) { (void)writer.submit(to, 0, from, 0, to.size(), timeout); });
    try_durations("DeviceWriter::wait", either, [&](auto timeout) {
        writer.wait(writer.submit(to, 0, from, 0, to.size(), patience), timeout);
    });
}

TEST_P(LimitsOfDurationsTest, ringsAndChunks) {
    Ring<int, Direction::to_device> ring(device(), {.capacity = 8});
    Ring<int, Direction::to_host> empty(device());
    MpmcRing<int, Direction::to_device> const shared(device(), {.capacity = 8, .stripe = 1});
    auto producer = shared.producer();
    ChunkRing<> chunks(device(), {.chunk_bytes = 256, .chunks = 8});
    std::vector<Chunk<NoMeta>> held;
    auto const room = Expected::behaves();
    try_durations("Ring::push", room, [&](auto timeout) { ring.push(1, timeout); });
    try_durations("MpmcRing::push", room, [&](auto timeout) { producer.push(1, timeout); });
    try_durations("ChunkRing::claim", room,
                  [&](auto timeout) { held.push_back(chunks.claim(timeout)); });
    while (ring.try_push(1)) {
    }
    while (producer.try_push(1)) {
    }
    while (auto chunk = chunks.try_claim()) held.push_back(std::move(*chunk));
    try_short_durations("Ring::push, full", Expected::timeout("Ring::push: "),
                        [&](auto timeout) { ring.push(1, timeout); });
    try_short_durations("Ring::pop, empty", Expected::timeout("Ring::pop: "),
                        [&](auto timeout) { return empty.pop(timeout); });
    try_short_durations("MpmcRing::push, full", Expected::timeout("MpmcRing::push: "),
                        [&](auto timeout) { producer.push(1, timeout); });
    try_short_durations("ChunkRing::claim, none free", Expected::timeout("ChunkRing::claim: "),
                        [&](auto timeout) { return chunks.claim(timeout); });
}

std::uint64_t twice(std::uint64_t value) { return 2 * value; }

TEST_P(LimitsOfDurationsTest, callsOfTheDeviceToTheHost) {
    EchoService const service(device(), twice);
    PersistentKernel<AskForHandler> kernel(device(), {}, {service.device_handle()});
    auto const ask = [&](std::uint64_t timeout_ns) {
        return kernel.channel().call(timeout_ns, patience);
    };
    auto const ends = [&](std::uint64_t timeout_ns) {
        HostCallResult const result = ask(timeout_ns);
        return result == HostCallResult::answered || result == HostCallResult::timed_out;
    };
    constexpr auto for_ever = most<std::uint64_t>;
    try_limits({{"HostCaller::call, 0", Expected::behaves(), [&] { return ends(0); }},
                {"HostCaller::call, 1 ns", Expected::behaves(), [&] { return ends(1); }},
                {"HostCaller::call, max", Expected::behaves(),
                 [&] { return ask(for_ever) == HostCallResult::answered; }}});
    try_durations("HostService::flush", Expected::behaves_or_times_out(),
                  [&](auto timeout) { service.flush(timeout); });
    LogService const log(device());
    try_durations("LogService::flush", Expected::behaves(),
                  [&](auto timeout) { log.flush(timeout); });
}

TEST_P(LimitsOfDurationsTest, threadsOfServices) {
    auto const answers = [&](ServiceThreadOptions const& thread) {
        EchoService const service(device(), twice, {.thread = thread});
        PersistentKernel<AskForHandler> kernel(device(), {}, {service.device_handle()});
        std::uint64_t const long_ns = std::chrono::nanoseconds(patience).count();
        return kernel.channel().call(long_ns, patience) == HostCallResult::answered;
    };
    try_durations("ServiceThreadOptions::spin", Expected::behaves(),
                  [&](auto spin) { return answers({.spin = spin}); });
    try_short_durations("ServiceThreadOptions::sleep", Expected::behaves(),
                        [&](auto sleep) { return answers({.sleep = sleep}); });
    // The service's thread looks once more when it is told to end.
    try_limit({"ServiceThreadOptions::sleep, max", Expected::behaves(), [&] {
                   return is_silent([&] {
                       EchoService(device(), twice, {.thread = {.spin = 0ns, .sleep = longest}});
                   });
               }});
    try_durations("ServiceThreadOptions::stop_timeout", Expected::behaves(), [&](auto timeout) {
        return is_silent(
            [&] { EchoService(device(), twice, {.thread = {.stop_timeout = timeout}}); });
    });
}

}  // namespace
}  // namespace carillon::test
