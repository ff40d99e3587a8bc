// SPDX-License-Identifier: Apache-2.0
#include "verify/verify.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "verify/litmus.hpp"

namespace carillon::tool {
namespace {

constexpr double control_share = 0.2;  // of a test's time

// Runs the tests one after the other, each for its share of the time.
class Verification {
   public:
    Verification(VerifyStage stage, VerifyOptions const& options, Progress const& progress)
        : stage_(std::move(stage)), options_(options), progress_(progress) {
        result_.seconds = options.seconds;
        result_.threads = stage_.threads;
    }

    VerifyResult run() {
        struct Part {
            void (Verification::*run)(double share);
            double share;  // of the time
        };
        constexpr Part parts[] = {
            {&Verification::lines_to_device, 0.2}, {&Verification::lines_to_host, 0.2},
            {&Verification::mpmc_lines, 0.07},     {&Verification::torn_lines, 0.14},
            {&Verification::two_lines, 0.04},      {&Verification::two_threads, 0.02},
            {&Verification::out_of_line, 0.05},    {&Verification::rows, 0.02},
            {&Verification::bulk_answers, 0.03},   {&Verification::bulk_data, 0.01},
            {&Verification::page_choice, 0.02},    {&Verification::slot_reuse, 0.05},
            {&Verification::flags, 0.05},          {&Verification::fences, 0.1}};
        double done = 0;
        std::size_t told = 0;
        for (Part const& part : parts) {
            if (interrupted()) break;
            (this->*part.run)(part.share);
            for (; options_.tell && told < result_.tests.size(); ++told) {
                options_.tell(result_.tests[told]);
            }
            progress_(std::min(1.0, done += part.share));
        }
        return std::move(result_);
    }

   private:
    [[nodiscard]] std::chrono::nanoseconds part(double share) const {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(share * 1e9 * options_.seconds));
    }
    TestReport& add(TestReport report) { return result_.tests.emplace_back(std::move(report)); }
    static Control control(std::string what, Findings const& found) {
        return {std::move(what), found.checks, found.violations, found.violations != 0};
    }
    static char const* name_of(Direction direction) {
        return direction == Direction::to_device ? "to_device" : "to_host";
    }

    void lines_to_device(double share) {
        lines(Direction::to_device, "lines_to_device", "control: store_fence", share);
    }
    void lines_to_host(double share) {
        lines(Direction::to_host, "lines_to_host", "no control: nothing to leave out", share);
    }
    void lines(Direction direction, char const* name, char const* control_note, double share) {
        LineTest const test{direction, 256, stage_.rings_per_thread()};
        add({name, name_of(direction),
             std::string("content and order in rings of 256 slots; ") + control_note,
             run_lines(stage_, test, part(share))});
    }

    void mpmc_lines(double share) {
        auto const kept = part(share / 2 * (1 - control_share));
        Findings found = run_mpmc(stage_, {1024, 32, 4}, kept);
        MpmcTest full{64, 8, 1, true};
        found += run_mpmc(stage_, full, kept);
        full.ignore_room = true;
        add({"lines_mpmc_to_device",
             "to_device",
             "every message of every thread once, whole, and in the thread's order",
             found,
             {control("the credit", run_mpmc(stage_, full, part(share * control_share)))}});
    }

    void torn_lines(double share) {
        std::vector<StoreForm> forms = store_forms(stage_.device);
        std::ranges::copy(store_forms(stage_.device, Storing::batches), std::back_inserter(forms));
        double const each = share / static_cast<double>(forms.size() + 1);
        StoreForm columns{"8-byte", {}, false, Storing::columns};
        Control const torn = control("whole quads (8-byte stores, column-wise)",
                                     run_torn(stage_, columns, part(each)));
        for (StoreForm const& form : forms) {
            Findings found = run_torn(stage_, form, part(each));
            bool const batches = form.storing == Storing::batches;
            TestReport& report = add({batches ? "torn_batches" : "torn_lines",
                                      "to_device",
                                      form.name,
                                      found,
                                      {},
                                      {{"partly_seen", found.partly_seen}}});
            if (form.used) {
                report.controls = {torn};
            } else {
                report.figures["quads_torn"] = found.violations;
                report.findings = Findings{};
                report.findings.checks = found.checks;
            }
        }
    }

    void two_lines(double share) {
        add({"two_lines_in_order",
             "to_device",
             "a line after a release is not seen before it",
             run_pairs(stage_, true, part(share * (1 - control_share))),
             {control("the release", run_pairs(stage_, false, part(share * control_share)))}});
    }

    void two_threads(double share) {
        add({"two_threads_in_order",
             "to_device",
             "a line written after another thread's line was seen is not seen before it",
             run_two_threads(stage_, true, part(share * (1 - control_share))),
             {control("the fence of the first thread",
                      run_two_threads(stage_, false, part(share * control_share)))}});
    }

    void out_of_line(double share) {
        auto const kept = part(share / 2 * (1 - control_share));
        auto const broken = part(share / 4 * control_share);
        auto const what = "every word of 8 to 512 bytes that a line names";
        Direction const in = Direction::to_device;
        Direction const out = Direction::to_host;
        add({"out_of_line_to_device",
             name_of(in),
             what,
             run_data(stage_, {in}, kept),
             {control("the release", run_data(stage_, {in, OutOfLine::none}, broken)),
              control("the acquire", run_data(stage_, {in, OutOfLine::written, true}, broken))}});
        add({"out_of_line_to_host",
             name_of(out),
             what,
             run_data(stage_, {out}, kept),
             {control("the release", run_data(stage_, {out, OutOfLine::none}, 2 * broken))}});
    }

    void rows(double share) {
        auto const broken = part(share / 3 * control_share);
        DataTest test{Direction::to_device};
        test.rows = true;
        DataTest shared = test;
        shared.shared = true;
        auto const kept = part(share / 2 * (1 - control_share));
        Findings found = run_data(stage_, test, kept);
        found += run_data(stage_, shared, kept);
        DataTest unreleased = test;
        unreleased.order = OutOfLine::none;
        DataTest relaxed = test;
        relaxed.relaxed_load = true;
        DataTest early = test;
        early.read_early = true;
        add({"rows_out_of_line",
             "to_device",
             "every word of 8 to 512 bytes that each of up to 16 lines in a row names",
             found,
             {control("the release", run_data(stage_, unreleased, broken)),
              control("the acquire", run_data(stage_, relaxed, broken)),
              control("waiting for the line", run_data(stage_, early, broken))},
             {{"rows", found.rounds}}});
    }

    void bulk_answers(double share) {
        auto const forms = answer_names();
        double const each = share / static_cast<double>(forms.size());
        for (std::size_t i = 0; i < forms.size(); ++i) {
            Findings const found = run_bulk(stage_, {i}, part(each * (1 - control_share)));
            add({"bulk_answers",
                 "to_host",
                 forms[i],
                 found,
                 {control("whole quads (8-byte stores, those with the tags first)",
                          run_bulk(stage_, {i, true}, part(each * control_share)))},
                 {{"partly_seen", found.partly_seen}}});
        }
    }

    // The library does not rely on this order: the findings are only a figure.
    void bulk_data(double share) {
        DataTest test{Direction::to_host};
        test.bulk = true;
        Findings const found = run_data(stage_, test, part(share * (1 - control_share)));
        test.order = OutOfLine::none;
        TestReport& report =
            add({"bulk_out_of_line",
                 "to_host",
                 "data of an answer that leaves as a bulk copy after a release (not relied on)",
                 {},
                 {control("the release", run_data(stage_, test, part(share * control_share)))},
                 {{"data_stale", found.stale}}});
        if (found.violations != found.stale) report.findings = found;  // more than that is wrong
        report.findings.checks = found.checks;
    }

    void page_choice(double share) {
        auto const kept = part(share / 3 * (1 - control_share));
        Findings found = run_pages(stage_, {64}, kept);
        found += run_pages(stage_, {256}, kept);
        found += run_pages(stage_, {256, true}, kept);
        add({"page_choice",
             "to_device",
             "every message once, while the consumer of a new ring chooses its pages",
             found,
             {control("lines in both pages",
                      run_pages(stage_, {64, false, true}, part(share * control_share)))},
             {{"rounds", found.rounds}, {"overlapping", found.overlapping}}});
    }

    void slot_reuse(double share) {
        for (Direction direction : {Direction::to_device, Direction::to_host}) {
            LineTest test{direction, 2, 1, true};
            Findings found = run_lines(stage_, test, part(share / 4 * (1 - control_share)));
            test.capacity = 4;
            found += run_lines(stage_, test, part(share / 4 * (1 - control_share)));
            test.ignore_credit = true;
            add({std::string("slot_reuse_") + name_of(direction),
                 name_of(direction),
                 "content and order in full rings of 2 and 4 slots",
                 found,
                 {control("the credit",
                          run_lines(stage_, test, part(share / 2 * control_share)))}});
        }
    }

    void flags(double share) {
        for (bool const host : {false, true}) {
            add({"flag_other_mapping",
                 "to_device",
                 host ? "data in host memory are as new as the flag"
                      : "data in another device memory are as new as the flag",
                 run_flags(stage_, {host}, part(share / 2 * (1 - control_share))),
                 {control("the release", run_flags(stage_, {host, OutOfLine::none},
                                                   part(share / 2 * control_share)))}});
        }
    }

    void fences(double share) {
        TestReport& report = add({"store_fence", "to_device", "every line is echoed", {}, {}, {}});
        result_.fences = run_fences(stage_, part(share), report.findings);
        Control missing{"the store fence", 0, 0, false};
        for (FenceReport const& each : result_.fences) {
            missing.checks += each.without.count;
            missing.failures += each.without.late;
            missing.shown |= each.lingered();
        }
        report.controls = {missing};
        result_.mapping = measure_mapping(stage_.device);
        result_.mapping.lingered = result_.fences.front().lingered();
    }

    VerifyStage stage_;
    VerifyOptions const& options_;
    Progress const& progress_;
    VerifyResult result_;
};

}  // namespace

unsigned default_verify_threads() {
    return std::clamp(detail::cpu::available_processors() - 1, 1U, 8U);
}

bool FenceReport::lingered() const {
    return without.late > 10 * with.late && 10 * without.late > without.count;
}

std::uint64_t VerifyResult::violations() const {
    std::uint64_t sum = 0;
    for (TestReport const& each : tests) sum += each.findings.violations;
    return sum;
}

std::size_t VerifyResult::controls() const {
    std::size_t sum = 0;
    for (TestReport const& each : tests) sum += each.controls.size();
    return sum;
}

std::size_t VerifyResult::controls_shown() const {
    std::size_t sum = 0;
    for (TestReport const& each : tests) {
        sum += static_cast<std::size_t>(std::ranges::count(each.controls, true, &Control::shown));
    }
    return sum;
}

std::uint64_t VerifyResult::checks_of(std::string const& name) const {
    auto const found = std::ranges::find(tests, name, &TestReport::name);
    return found == tests.end() ? 0 : found->findings.checks;
}

VerifyResult run_verify(Device const& device, VerifyOptions const& options,
                        Progress const& progress) {
    unsigned const threads = options.threads != 0 ? options.threads : default_verify_threads();
    return Verification({device, threads}, options, progress).run();
}

}  // namespace carillon::tool
