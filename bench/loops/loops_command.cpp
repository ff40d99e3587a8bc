// SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <array>
#include <carillon/error.hpp>
#include <chrono>
#include <iostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "command/common.hpp"
#include "command/time_option.hpp"
#include "loops/loops.hpp"
#include "measure/interrupt.hpp"
#include "report/environment.hpp"

namespace carillon::tool {
namespace {

using namespace std::chrono_literals;

// Google Benchmark has no other way to end before the last loop.
struct EndedEarly {};

// A table for people below the line that names the device, and Google Benchmark's JSON of the same
// runs. Google Benchmark's facts about the machine are left out, since each of our reports has
// them.
class TableAndJson final : public benchmark::ConsoleReporter {
   public:
    TableAndJson(std::ostream& table, std::string device)
        : ConsoleReporter(OO_Tabular), device_(std::move(device)) {
        SetOutputStream(&table);
        SetErrorStream(&left_out_);
        json_.SetOutputStream(&text_);
    }
    bool ReportContext(Context const& context) override {
        GetOutputStream() << device_;
        return json_.ReportContext(context) && ConsoleReporter::ReportContext(context);
    }
    void ReportRuns(std::vector<Run> const& runs) override {
        ConsoleReporter::ReportRuns(runs);
        GetOutputStream().flush();
        json_.ReportRuns(runs);
        if (interrupted()) throw EndedEarly{};
    }
    void Finalize() override { json_.Finalize(); }

    [[nodiscard]] nlohmann::json rows() const {
        return nlohmann::json::parse(text_.str()).at("benchmarks");
    }

   private:
    std::string device_;
    std::ostringstream text_;
    std::ostringstream left_out_;
    benchmark::JSONReporter json_;
};

// `skipped` is the newer name of the two.
void require_success(nlohmann::json const& rows) {
    for (nlohmann::json const& row : rows) {
        if (row.value("error_occurred", false) || row.value("skipped", false)) {
            throw Error("loops",
                        fmt::format("{}: {}", row.value("name", ""),
                                    row.value("error_message", row.value("skip_message", ""))));
        }
    }
}

class LoopsCommand final : public Command {
   public:
    void add_options(CLI::App& command_line) override {
        common_.add_to(command_line);
        command_line
            .add_option("--filter", filter_, "run only loops whose name matches this pattern")
            ->option_text("PATTERN");
        add_time(command_line, "--min-time", time_, 1ms, 1h, "run each loop for at least TIME");
    }

    void run() override {
        Device const device = common_.open_for_measurement();
        add_publish_loops(device);
        add_chunk_loops(device);
        nlohmann::json const rows = measure(headline("loops on one CPU thread", device.info()));
        benchmark::ClearRegisteredBenchmarks();
        require_success(rows);
        common_.write({{"results", rows}}, device.info());
    }

   private:
    [[nodiscard]] nlohmann::json measure(std::string const& device) {
        std::array<std::string, 3> words{
            "carillon-bench", "--benchmark_filter=" + filter_,
            fmt::format("--benchmark_min_time={}", std::chrono::duration<double>(time_).count())};
        std::array<char*, 3> arguments{words[0].data(), words[1].data(), words[2].data()};
        int count = 3;
        benchmark::Initialize(&count, arguments.data());
        TableAndJson reporter(common_.json().takes_standard_output() ? std::cerr : std::cout,
                              device);
        try {
            if (benchmark::RunSpecifiedBenchmarks(&reporter) == 0) {
                throw UsageError("loops", fmt::format("no loop matches \"{}\"", filter_));
            }
        } catch (EndedEarly const&) {
            reporter.Finalize();
        }
        return reporter.rows();
    }

    CommonOptions common_;
    std::string filter_ = ".";
    std::chrono::nanoseconds time_ = 500ms;
};

}  // namespace

std::unique_ptr<Command> make_loops_command() { return std::make_unique<LoopsCommand>(); }

}  // namespace carillon::tool
