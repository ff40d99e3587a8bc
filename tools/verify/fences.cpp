// SPDX-License-Identifier: Apache-2.0
// Device source: nvcc compiles it where there is one.
#include <algorithm>

#include "kernels/verify/watch_litmus.hpp"
#include "measure/latency.hpp"
#include "verify/litmus_kernel.hpp"

namespace carillon::tool {
namespace {

constexpr std::uint32_t slots = 64;
constexpr std::uint32_t least_trials = 10;
constexpr std::chrono::milliseconds linger_limit{2};  // then the fence follows
constexpr std::chrono::seconds arrival_limit{1};

struct PublishForm {
    std::string name;
    StoreKind kind;
    bool flag;  // a bare 8-byte word
};

std::vector<PublishForm> publish_forms(Device const& device) {
    std::vector<PublishForm> forms{{"8-byte flag", StoreKind::cached, true}};
    for (StoreForm const& form : store_forms(device)) {
        if (form.stores.mode == detail::PublishMode::two_step) continue;
        if (form.stores.kind == StoreKind::cached && device.traits().write_combining) continue;
        forms.push_back({std::string(to_string(form.stores.kind)), form.stores.kind, false});
    }
    return forms;
}

// Publishes trial after trial and times the echoes.
class Trials {
   public:
    Trials(VerifyStage const& stage, PublishForm const& form, std::chrono::nanoseconds time)
        : stage_(stage),
          form_(form),
          time_(time),
          memory_(stage.device, 1, slots),
          kernel_(stage, 1, 2 * time) {
        detail::ChannelView const view = memory_.device_view().channel(0);
        kernel_.start(EchoTrials{view.requests.base, slots, form.flag, &view.status->ended,
                                 kernel_.station()});
    }

    // A line that does not come even after a fence is a violation.
    FenceReport::Trials run(bool fence, Findings& findings) {
        auto const deadline = Clock::now() + time_;
        std::vector<std::uint32_t> samples;
        while ((samples.size() < least_trials || time_is_left(deadline)) && samples.size() < most) {
            auto const start = Clock::now();
            publish(++trial_, fence);
            if (!came(linger_limit)) {
                detail::X86::store_fence();
                if (!came(arrival_limit)) {
                    findings.add({Fault::missing, 0, trial_, 0, trial_, echo()});
                    break;
                }
            }
            samples.push_back(static_cast<std::uint32_t>((Clock::now() - start).count()));
        }
        findings.checks += samples.size();
        LatencySummary const summary = summarize(form_.name, samples);
        auto const late = std::ranges::upper_bound(samples, FenceReport::late_ns);
        return {samples.size(), summary.p50_ns, static_cast<std::uint64_t>(samples.end() - late)};
    }

    void end() const { (void)kernel_.end(); }

   private:
    static constexpr std::size_t most = 1'000'000;

    void publish(std::uint32_t trial, bool fence) const {
        detail::Line* const slot = memory_.host_view().channel(0).requests.base + trial % slots;
        if (form_.flag) {
            detail::X86::store_word(&slot->quads[0].high, std::uint64_t{trial} << 32U);
        } else {
            detail::X86::store_line(form_.kind, slot, versioned_line(trial));
        }
        if (fence) detail::X86::store_fence();
        if (detail::RangeSync const* const sync = memory_.device_memory().range_sync();
            sync != nullptr) {
            sync->flush(slot, sizeof(detail::Line));
        }
    }
    [[nodiscard]] std::uint64_t echo() const {
        return detail::HostCached().load_word(&memory_.host_view().channel(0).status->ended);
    }
    [[nodiscard]] bool came(std::chrono::nanoseconds limit) const {
        HostWait const wait(stage_.device.traits().shares_processors ? HostWait::Style::yield
                                                                     : HostWait::Style::spin);
        return wait.until([&] { return echo() == trial_; }, limit);
    }

    VerifyStage const& stage_;
    PublishForm const& form_;
    std::chrono::nanoseconds time_;
    ChannelMemory memory_;
    LitmusKernel kernel_;
    std::uint32_t trial_ = 0;
};

}  // namespace

std::vector<FenceReport> run_fences(VerifyStage const& stage, std::chrono::nanoseconds time,
                                    Findings& findings) {
    std::vector<FenceReport> reports;
    auto const forms = publish_forms(stage.device);
    for (PublishForm const& form : forms) {
        Trials trials(stage, form, time / (2 * forms.size()));
        FenceReport report;
        report.form = form.name;
        report.with = trials.run(true, findings);
        report.without = trials.run(false, findings);
        trials.end();
        reports.push_back(report);
    }
    return reports;
}

}  // namespace carillon::tool
