// SPDX-License-Identifier: Apache-2.0
// The `carillon` command. Exit status: 0 success, 1 failure, 2 usage.
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <carillon/cores.hpp>
#include <carillon/device.hpp>
#include <carillon/error.hpp>
#include <cstdio>
#include <filesystem>

#include "build_info.hpp"
#include "copy/copy.hpp"
#include "doctor/doctor.hpp"
#include "idle/idle.hpp"
#include "load/load.hpp"
#include "measure/latency.hpp"
#include "rate/rate.hpp"
#include "replay/dbn.hpp"
#include "replay/replay.hpp"
#include "report/environment.hpp"
#include "rtt/rtt.hpp"
#include "soak/soak.hpp"
#include "tune/tune.hpp"
#include "verify/report.hpp"

namespace carillon::tool {
namespace {

constexpr int failure = 1;
constexpr int bad_usage = 2;

struct Common {
    std::string device = "best";
    std::string json;

    void add_to(CLI::App& command) {
        command.add_option("--device", device, Device::selectors());
        command.add_option("--json", json, "also write the result here; - for standard output");
    }
    // Standard output is the JSON's alone when it goes there.
    [[nodiscard]] std::FILE* text_output() const { return json == "-" ? stderr : stdout; }
};

// Opens the device; a build without kernels for GPUs measures the emulated one instead of the best.
Device open_device(Common const& common) {
    Device device = Device::open(common.device);
    if (have_device_code || !device.traits().cuda || common.device != "best") return device;
    fmt::print(stderr,
               "carillon: this build has no device code (no nvcc): the emulated device is used "
               "instead of {}\n",
               device.info().name);
    return Device::open("emulated");
}

// Progress on standard error, if somebody watches.
void show_progress(double share) {
    if (::isatty(STDERR_FILENO) == 0) return;
    fmt::print(stderr, "\r{:3.0f} %{}", 100 * share, share >= 1 ? "\r      \r" : "");
}

void info(Common const& common, bool one_device, bool as_json) {
    std::vector<DeviceInfo> devices;
    if (one_device) {
        devices.push_back(Device::open(common.device).info());
    } else {
        devices = Device::list();
    }
    if (as_json) {
        nlohmann::json all = nlohmann::json::array();
        for (DeviceInfo const& each : devices) all.push_back(to_json(each));
        write_json("-",
                   {{"version", version}, {"device_code", have_device_code}, {"devices", all}});
        return;
    }
    fmt::print("carillon {}, device code: {}\n", version, have_device_code ? "yes" : "no");
    for (DeviceInfo const& each : devices) fmt::print("{}", describe(each));
}

void rtt(Common const& common, RttOptions const& options) {
    Device const device = open_device(common);
    RttResult const result = run_rtt(device, options, show_progress);
    nlohmann::json env = environment(device.info());
    env["iterations"] = options.iterations;
    env["rounds"] = options.rounds;
    env["capacity"] = options.capacity;
    env["wait"] = to_string(result.wait);
    nlohmann::json results = nlohmann::json::array();
    for (LatencySummary const& each : result.summaries) results.push_back(to_json(each));
    nlohmann::json const all{
        {"environment", env}, {"results", results}, {"multiprocessors", result.multiprocessors}};
    fmt::print(common.text_output(), "{}round trips, {:.0f} ns of each the clock's own cost\n{}",
               headline(device.info()), env["clock_cost_ns"].get<double>(),
               latency_table(result.summaries));
    if (!common.json.empty()) write_json(common.json, all);
}

void rate(Common const& common, RateOptions const& options) {
    Device const device = open_device(common);
    auto const measured = run_rate(device, options, show_progress);
    nlohmann::json env = environment(device.info());
    env["seconds"] = options.seconds;
    env["rounds"] = options.rounds;
    nlohmann::json results = nlohmann::json::array();
    for (RateResult const& each : measured) results.push_back(to_json(each));
    fmt::print(common.text_output(), "{}median of {} rounds\n{}", headline(device.info()),
               options.rounds, rate_table(measured));
    if (!common.json.empty()) {
        write_json(common.json, {{"environment", env}, {"results", results}});
    }
}

void load(Common const& common, LoadOptions const& options) {
    Device const device = open_device(common);
    LoadResult const measured = run_load(device, options, show_progress);
    nlohmann::json env = environment(device.info());
    env["rounds"] = options.rounds;
    env["capacity"] = options.capacity;
    nlohmann::json results = nlohmann::json::array();
    for (LoadLevel const& each : measured.levels) results.push_back(to_json(each));
    fmt::print(
        common.text_output(),
        "{}ns from when a call was due to its reply, {:.0f} of them the clock's own cost\n{}",
        headline(device.info()), env["clock_cost_ns"].get<double>(), load_table(measured));
    if (!common.json.empty()) {
        write_json(common.json, {{"environment", env},
                                 {"channel_per_second", measured.channel_per_second},
                                 {"launch_per_second", measured.launch_per_second},
                                 {"results", results}});
    }
}

void replay(Common const& common, std::string const& path) {
    DbnFile const file = DbnFile::read(path);
    Device const device = open_device(common);
    ReplayResult result = run_replay(device, file, {}, show_progress);
    LatencySummary const latency = summarize("call", result.latencies_ns);
    bool const agree = result.device == result.host;
    fmt::print(common.text_output(), "{}{} records of {}\n{}{}", headline(device.info()),
               result.records, path, tally_table(result.device, result.host),
               latency_table({latency}));
    if (!common.json.empty()) {
        write_json(common.json, {{"environment", environment(device.info())},
                                 {"file", std::filesystem::path(path).filename().string()},
                                 {"records", result.records},
                                 {"agree", agree},
                                 {"device_tally", to_json(result.device)},
                                 {"host_tally", to_json(result.host)},
                                 {"results", nlohmann::json::array({to_json(latency)})}});
    }
    if (!agree) throw Error("replay", "the device's tallies differ from the host's");
}

void verify(Common const& common, VerifyOptions const& options) {
    Device const device = open_device(common);
    VerifyResult const result = run_verify(device, options, show_progress);
    fmt::print(common.text_output(), "{}{}", headline(device.info()),
               verify_table(result, device.emulated()));
    if (!common.json.empty()) {
        nlohmann::json all = to_json(result);
        all["environment"] = environment(device.info());
        write_json(common.json, all);
    }
    require_no_violation(result);
}

void doctor(Common const& common) {
    DoctorReport const report = run_doctor(common.device);
    fmt::print(common.text_output(), "{}", doctor_text(report));
    if (!common.json.empty()) {
        nlohmann::json all = to_json(report);
        all["environment"] = environment(report.device);
        write_json(common.json, all);
    }
    require_no_error(report);
}

void copy(Common const& common, CopyOptions const& options) {
    Device const device = open_device(common);
    std::vector<CopyResult> const copies = run_copy(device, options, show_progress);
    fmt::print(common.text_output(), "{}copies, each until its bytes are on their way or here\n{}",
               headline(device.info()), copy_table(copies));
    if (common.json.empty()) return;
    nlohmann::json env = environment(device.info());
    env["rounds"] = options.rounds;
    nlohmann::json results = nlohmann::json::array();
    for (CopyResult const& each : copies) results.push_back(to_json(each));
    write_json(common.json, {{"environment", env}, {"results", results}});
}

// A load, or starts and stops, of which there are `cycles` then.
void soak(Common const& common, SoakOptions const& options, std::uint64_t cycles) {
    Device const device = open_device(common);
    auto const report = [&](auto const& result, std::string const& text) {
        fmt::print(common.text_output(), "{}{}", headline(device.info()), text);
        if (!common.json.empty()) {
            nlohmann::json all = to_json(result);
            all["environment"] = environment(device.info());
            write_json(common.json, all);
        }
        require_sound(result);
    };
    if (cycles != 0) {
        CyclesResult const result = run_cycles(device, cycles, show_progress);
        report(result, cycles_text(result));
    } else {
        SoakResult const result = run_soak(device, options, show_progress);
        report(result, soak_text(result));
    }
}

void idle(Common const& common, IdleOptions const& options) {
    Device const device = open_device(common);
    IdleReport const report = run_idle(device, options, show_progress);
    fmt::print(common.text_output(),
               "{}ns for a call, right behind another and after a pause of {} us, and the power of "
               "the GPU while {} block{}\n{}",
               headline(device.info()), options.pause_us, report.blocks,
               report.blocks == 1 ? " waits" : "s wait", idle_table(report));
    if (common.json.empty()) return;
    nlohmann::json env = environment(device.info());
    env["blocks"] = report.blocks;
    env["pause_us"] = options.pause_us;
    nlohmann::json results = nlohmann::json::array();
    for (IdleResult const& each : report.policies) results.push_back(to_json(each));
    nlohmann::json all{{"environment", env}, {"results", results}};
    if (report.power_without_kernel) all["power_without_kernel_w"] = *report.power_without_kernel;
    write_json(common.json, all);
}

void tune_placement(Common const& common, TuneOptions const& options, bool keep) {
    Device const device = open_device(common);
    PlacementProfile const profile = run_tune(device, options);
    std::vector<unsigned> const near = cores_near(device.info());
    std::string const path = placement_profile_path(device.info()).string();
    if (keep) save_placement_profile(profile, path);
    fmt::print(common.text_output(),
               "{}round trips of a line, one place changed at a time\n{}{} {}\n",
               headline(device.info()), tune_table(profile, near),
               keep ? "profile saved at" : "profile not saved at", path);
    if (common.json.empty()) return;
    nlohmann::json all = to_json(profile, near);
    all["environment"] = environment(device.info());
    all["profile"] = path;
    all["saved"] = keep;
    write_json(common.json, all);
}

int run(int argc, char** argv) {
    CLI::App app("Low-latency command of a running GPU kernel from the CPU.", "carillon");
    app.set_version_flag("--version", version);
    app.require_subcommand(1);
    Common common;

    bool info_json = false;
    auto* info_command = app.add_subcommand("info", "devices, and how they would be used");
    auto* info_device = info_command->add_option("--device", common.device, "only this one");
    info_command->add_flag("--json", info_json, "as JSON on standard output");

    RttOptions options;
    auto* rtt_command = app.add_subcommand("rtt", "round-trip latency, ours and the rivals'");
    common.add_to(*rtt_command);
    rtt_command->add_option("--iterations", options.iterations, "of each measure")
        ->check(CLI::Range(1U, 100'000'000U));
    rtt_command->add_option("--rounds", options.rounds, "in which the measures take turns")
        ->check(CLI::Range(1U, 1000U));
    rtt_command->add_option("--capacity", options.capacity, "slots of a ring, a power of two");
    rtt_command->add_option_function<std::string>(
        "--wait",
        [&](std::string const& name) {
            options.wait = wait_style(name);
            if (!options.wait) throw CLI::ValidationError("--wait", "no such style: " + name);
        },
        "how the CPU waits: spin, pause, yield, tpause or umwait; by default as for a kernel");

    RateOptions rate_options;
    auto* rate_command =
        app.add_subcommand("rate", "messages a second, and what a push costs, beside the rivals");
    common.add_to(*rate_command);
    rate_command->add_option("--seconds", rate_options.seconds, "for all measures together")
        ->check(CLI::Range(0.001, 86'400.0));
    rate_command->add_option("--rounds", rate_options.rounds, "in which the measures take turns")
        ->check(CLI::Range(1U, 1000U));
    rate_command->add_option("--capacity", rate_options.capacity,
                             "slots of a ring, a power of two");
    rate_command->add_option("--stripe", rate_options.stripe, "slots that a warp claims at once");
    rate_command->add_option("--warps", rate_options.warps, "of a block that takes messages")
        ->check(CLI::Range(1U, 32U));
    rate_command->add_option("--batch", rate_options.batch, "messages of a push of one producer")
        ->check(CLI::Range(1U, 65'536U));

    LoadOptions load_options;
    auto* load_command = app.add_subcommand(
        "load", "how long calls take that are sent on a schedule, by share of the highest rate");
    common.add_to(*load_command);
    load_command->add_option("--samples", load_options.samples, "of each level")
        ->check(CLI::Range(1U, 100'000'000U));
    load_command->add_option("--rounds", load_options.rounds, "in which the levels take turns")
        ->check(CLI::Range(1U, 1000U));
    load_command->add_option("--capacity", load_options.capacity, "slots, a power of two");

    std::string path;
    auto* replay_command = app.add_subcommand("replay",
                                              "sends an order-by-order feed, one call "
                                              "a record, and checks the tallies");
    common.add_to(*replay_command);
    replay_command->add_option("file", path, "a DBN file of MBO records")->required();

    auto* doctor_command = app.add_subcommand(
        "doctor", "whether this machine can do what a persistent kernel needs, and what helps");
    common.add_to(*doctor_command);

    CopyOptions copy_options;
    auto* copy_command = app.add_subcommand(
        "copy", "bandwidth of copies between CPU and device memory, ours and the rivals'");
    common.add_to(*copy_command);
    copy_command->add_option("--rounds", copy_options.rounds, "in which the measures take turns")
        ->check(CLI::Range(1U, 1000U));
    copy_command->add_option("--largest", copy_options.largest, "copy, in bytes")
        ->check(CLI::Range(std::size_t{64}, std::size_t{1} << 30));

    SoakOptions soak_options;
    std::uint64_t soak_cycles = 0;
    auto* soak_command = app.add_subcommand(
        "soak", "whether anything is lost, or grows, under a long load or over many starts");
    common.add_to(*soak_command);
    auto* soak_seconds = soak_command->add_option("--seconds", soak_options.seconds, "of the load")
                             ->check(CLI::Range(0.001, 2'592'000.0));
    auto* soak_minutes =
        soak_command
            ->add_option_function<double>(
                "--minutes", [&](double minutes) { soak_options.seconds = 60 * minutes; },
                "instead of seconds")
            ->check(CLI::Range(0.001, 43'200.0))
            ->excludes(soak_seconds);
    auto* soak_load =
        soak_command->add_option("--load", soak_options.load_percent, "percent of the highest rate")
            ->check(CLI::Range(1U, 100U));
    auto* soak_channels =
        soak_command->add_option("--channels", soak_options.channels, "each with a block")
            ->check(CLI::Range(1U, 1024U));
    soak_command->add_option("--cycles", soak_cycles, "no load: start, call and stop so often")
        ->check(CLI::Range(1U, 100'000'000U))
        ->excludes(soak_seconds)
        ->excludes(soak_minutes)
        ->excludes(soak_load)
        ->excludes(soak_channels);

    IdleOptions idle_options;
    auto* idle_command =
        app.add_subcommand("idle", "what waking a block costs, and its waiting, by idle policy");
    common.add_to(*idle_command);
    idle_command->add_option("--calls", idle_options.calls, "after a pause, of each policy")
        ->check(CLI::Range(1U, 1'000'000U));
    idle_command->add_option("--pause", idle_options.pause_us, "before each, in microseconds")
        ->check(CLI::Range(1U, 10'000'000U));
    idle_command->add_option("--blocks", idle_options.blocks, "that wait; 0: one a multiprocessor")
        ->check(CLI::Range(0U, 1024U));

    TuneOptions tune_options;
    bool dry_run = false;
    auto* tune_command = app.add_subcommand(
        "tune",
        "finds the multiprocessors and cores with the shortest calls, and keeps them in a "
        "profile for later kernels");
    common.add_to(*tune_command);
    tune_command->add_option("--seconds", tune_options.seconds, "at most, for all of it")
        ->check(CLI::Range(1U, 86'400U));
    tune_command->add_flag("--dry-run", dry_run, "do not keep the profile");

    VerifyOptions verify_options;
    auto* verify_command = app.add_subcommand(
        "verify", "litmus tests of the order that the rings rely on, each with a negative control");
    common.add_to(*verify_command);
    verify_command->add_option("--seconds", verify_options.seconds, "for all tests together")
        ->check(CLI::Range(1U, 86'400U));
    verify_command->add_option("--threads", verify_options.threads, "of the CPU's side")
        ->check(CLI::Range(1U, most_verify_threads));

    try {
        app.parse(argc, argv);
    } catch (CLI::ParseError const& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
        fmt::print(stderr, "carillon: {}\n", error.what());
        return bad_usage;
    }
    if (info_command->parsed()) info(common, info_device->count() != 0, info_json);
    if (rtt_command->parsed()) {
        options.rounds = std::min(options.rounds, options.iterations);
        rtt(common, options);
    }
    if (doctor_command->parsed()) doctor(common);
    if (copy_command->parsed()) copy(common, copy_options);
    if (rate_command->parsed()) rate(common, rate_options);
    if (load_command->parsed()) {
        auto& rounds = load_options.rounds;
        rounds = std::min(rounds, load_options.samples.value_or(rounds));
        load(common, load_options);
    }
    if (replay_command->parsed()) replay(common, path);
    if (soak_command->parsed()) soak(common, soak_options, soak_cycles);
    if (idle_command->parsed()) idle(common, idle_options);
    if (tune_command->parsed()) tune_placement(common, tune_options, !dry_run);
    if (verify_command->parsed()) verify(common, verify_options);
    return 0;
}

}  // namespace
}  // namespace carillon::tool

int main(int argc, char** argv) {
    try {
        return carillon::tool::run(argc, argv);
    } catch (carillon::UsageError const& error) {
        fmt::print(stderr, "carillon: {}\n", error.what());
        return carillon::tool::bad_usage;
    } catch (std::exception const& error) {
        fmt::print(stderr, "carillon: {}\n", error.what());
        return carillon::tool::failure;
    }
}
