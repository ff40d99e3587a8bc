// SPDX-License-Identifier: Apache-2.0
#include "edges/failures/one_failure.hpp"

#include <dirent.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "carillon/detail/wire/config.hpp"
#include "carillon/error.hpp"

namespace carillon::test {
namespace {

constexpr unsigned longest_seconds = 20;
constexpr unsigned most_bad = 20;  // of one kind: enough to see what is wrong
#if CARILLON_ADDRESS_SANITIZER
constexpr bool sanitized = true;
#else
constexpr bool sanitized = CARILLON_THREAD_SANITIZER != 0;
#endif
// After a failure few threads are left to race with one another: under the thread sanitizer only
// every `sparser`th call fails. The other builds make each call fail.
constexpr unsigned sparser = CARILLON_THREAD_SANITIZER != 0 ? 5 : 1;

// How a run has ended. Its owner is another process: no pointers.
struct Report {
    char failed_call[64]{};  // "": none was due
    char problem[1024]{};    // "": it ended as it should
};

template <std::size_t size>
void copy_text(std::string_view from, char (&to)[size]) {
    std::size_t const length = std::min(from.size(), size - 1);
    std::memcpy(to, from.data(), length);
    to[length] = 0;
}

long entries(char const* folder) {
    DIR* const open = ::opendir(folder);
    long count = 0;
    while (::readdir(open) != nullptr) ++count;
    ::closedir(open);
    return count - 2;  // "." and ".."
}

// Resources that a process holds.
struct Held {
    long descriptors = 0;
    long mappings = 0;  // of shared memory that the library or a stand-in has made
    long threads = 0;
    long allocations = 0;
    long in_drivers = 0;  // a current context, another capture mode, registered memory

    static Held now() {
        Held held;
        InStandIn const not_the_librarys;
        std::ifstream maps("/proc/self/maps");
        for (std::string line; std::getline(maps, line);) {
            if (line.find("memfd:carillon") != std::string::npos) ++held.mappings;
        }
        maps.close();
        held.descriptors = entries("/proc/self/fd");
        held.threads = entries("/proc/self/task");
        held.allocations = live_allocations();
        held.in_drivers = held_by_stand_ins();
        return held;
    }

    // Threads that have done their work may be on their way out.
    static Held settled(long threads) {
        for (int i = 0; i < 1000 && entries("/proc/self/task") > threads; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(2));
        }
        return now();
    }

    [[nodiscard]] bool operator==(Held const&) const = default;
    [[nodiscard]] std::string text() const {
        return fmt::format("{} descriptors, {} mappings, {} threads, {} allocations, {} in drivers",
                           descriptors, mappings, threads, allocations, in_drivers);
    }
};

// "" if a run may throw this when `call` has failed.
std::string judge(FaultKind kind, char const* call, std::exception_ptr const& thrown) {
    try {
        if (thrown) std::rethrow_exception(thrown);
    } catch (Error const& error) {
        std::string const text = error.what();
        if (call == nullptr) return "it fails where no call fails: " + text;
        if (kind == FaultKind::allocation || text.find(call) != std::string::npos) return "";
        return "the error does not name the call: " + text;
    } catch (std::bad_alloc const&) {
        return kind == FaultKind::allocation ? "" : "a std::bad_alloc";
    } catch (std::exception const& error) {
        return fmt::format("no typed error: {}", error.what());
    } catch (...) {
        return "no exception of any known type";
    }
    return "";
}

std::string run_armed(Scenario const& scenario, Fault const& fault, Report& report) {
    std::exception_ptr thrown;
    arm(fault);
    try {
        scenario.run();
    } catch (...) {
        thrown = std::current_exception();
    }
    char const* const call = disarm();
    if (call != nullptr) copy_text(call, report.failed_call);
    return judge(fault.kind, call, thrown);
}

// "" if it goes well.
std::string run_well(void (*run)()) {
    try {
        run();
        return "";
    } catch (std::exception const& error) {
        return fmt::format("it fails where no call fails: {}", error.what());
    }
}

void expect_same(char const* when, Held const& before, Held const& after, std::string& problem) {
    if (!problem.empty() || before == after) return;
    problem = fmt::format("{}: {}; before: {}", when, after.text(), before.text());
}

// Makes one failure in a process that has run the scenario before, or in a new one.
std::string run_with_failure(Scenario const& scenario, Fault const& fault, bool warm,
                             Report& report) {
    std::string problem;
    std::thread([] {}).join();  // the thread sanitizer's own come with the first
    Held before = Held::settled(CARILLON_THREAD_SANITIZER != 0 ? 3 : 1);
    if (warm) {
        for (int i = 0; i < 2 && problem.empty(); ++i) problem = run_well(scenario.run);
        if (!problem.empty()) return "before a failure: " + problem;
        before = Held::settled(before.threads);
    }
    problem = run_armed(scenario, fault, report);
    Held after = Held::settled(before.threads);
    if (!warm) after.allocations = before.allocations;  // what is made once in a process is kept
    // A destructor to which the driver refuses the context takes the context for gone, and all that
    // it held.
    if (std::string_view(report.failed_call) == "cuCtxPushCurrent") before = after;
    expect_same("it leaks", before, after, problem);
    std::string const again = run_well(scenario.run);
    if (problem.empty() && !again.empty()) problem = "afterwards " + again;
    after = Held::settled(before.threads);
    if (!warm) after.allocations = before.allocations;
    expect_same("after the next run it leaks", before, after, problem);
    return problem;
}

// Runs the scenario in a child, which has only its own threads and nothing that was made before.
Report in_child(Scenario const& scenario, Fault const& fault, bool warm) {
    int ends[2];
    if (::pipe(ends) != 0) throw SystemError("pipe", errno);
    pid_t const child = ::fork();
    if (child == 0) {
        ::alarm(longest_seconds);
        Report report;
        std::string const problem = run_with_failure(scenario, fault, warm, report);
        copy_text(problem, report.problem);
        ::_exit(::write(ends[1], &report, sizeof(report)) == sizeof(report) ? 0 : 1);
    }
    ::close(ends[1]);
    Report report;
    bool const whole = ::read(ends[0], &report, sizeof(report)) == sizeof(report);
    ::close(ends[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    if (!whole) {
        report = {};
        copy_text("?", report.failed_call);
        copy_text(fmt::format("its process ended by signal {}, status {}",
                              WIFSIGNALED(status) ? ::strsignal(WTERMSIG(status)) : "none",
                              WIFEXITED(status) ? WEXITSTATUS(status) : -1),
                  report.problem);
    }
    return report;
}

std::string cpu_name() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);) {
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    }
    return "";
}

// Counts over all tests of this process. They are written at its end to the file that
// CARILLON_EDGES_JSON names, if any.
class Tally : public testing::Environment {
   public:
    unsigned injected = 0;
    unsigned bad = 0;
    nlohmann::json each = nlohmann::json::object();

    void TearDown() override {
        std::printf("%u calls made to fail, of which %u ended badly\n", injected, bad);
        char const* const path = std::getenv("CARILLON_EDGES_JSON");
        if (path == nullptr) return;
        std::ofstream(path)
            << nlohmann::json{{"commit", CARILLON_COMMIT},
                              {"cpu", cpu_name()},
                              {"date", fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))},
                              {"edges.failures_injected", injected},
                              {"edges.failures_bad", bad},
                              {"scenarios", each}}
                   .dump(2)
            << '\n';
    }
};
auto* const tally = static_cast<Tally*>(testing::AddGlobalTestEnvironment(new Tally));

void expect_each(Scenario const& scenario, Fault fault, bool warm) {
    unsigned const step = fault.kind == FaultKind::allocation
                              ? scenario.step * (sanitized ? 7 : 1) * sparser
                              : sparser;
    std::string const what = fmt::format(
        "{}, {}{}, {}", scenario.name, fault_kinds.at(static_cast<std::size_t>(fault.kind)),
        fault.for_want_of_memory ? "" : " (another failure)", warm ? "warm" : "new");
    bool const repeats = CARILLON_ADDRESS_SANITIZER != 0 && fault.kind != FaultKind::allocation;
    unsigned const last = repeats ? scenario.distinct_calls : ~0U;
    unsigned bad = 0;
    for (fault.nth = 1; bad < most_bad && fault.nth <= last; fault.nth += step) {
        Report const report = in_child(scenario, fault, warm);
        if (report.problem[0] != 0) {
            ADD_FAILURE() << what << ", call " << fault.nth << " (" << report.failed_call
                          << "): " << report.problem;
            ++tally->bad;
            ++bad;
        }
        if (report.failed_call[0] == 0) break;
        ++tally->injected;
        auto& count = tally->each[what];
        count = (count.is_null() ? 0U : count.get<unsigned>()) + 1;
    }
}

}  // namespace

void expect_each_failure_is_survived(Scenario const& scenario) {
    for (FaultKind const kind : scenario.kinds) {
        for (bool const warm : {false, true}) {
            expect_each(scenario, {kind, 1, true}, warm);
            bool const of_driver = kind == FaultKind::vulkan || kind == FaultKind::cuda;
            if (of_driver) expect_each(scenario, {kind, 1, false}, warm);
        }
    }
}

}  // namespace carillon::test
