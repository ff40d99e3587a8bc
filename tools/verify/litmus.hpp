// SPDX-License-Identifier: Apache-2.0
// The litmus tests of run_verify(). Each runs for a time, with the discipline or without a part of
// it, and returns its findings.
#pragma once

#include <carillon/carillon.hpp>
#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "measure/interrupt.hpp"
#include "verify/verify.hpp"

namespace carillon::tool {

using Clock = std::chrono::steady_clock;

struct VerifyStage {
    Device device;
    unsigned threads;

    // A GPU's block takes lines more slowly than a CPU thread sends them. Blocks that
    // share the CPU's processors need some of their own.
    [[nodiscard]] unsigned rings_per_thread() const {
        return device.traits().shares_processors ? 1 : 8;
    }
    [[nodiscard]] unsigned watchers() const { return device.traits().shares_processors ? 1 : 32; }
    // After an unsuccessful poll.
    void rest() const {
        if (device.traits().shares_processors) detail::cpu::pause_or_yield(0, true);
    }
};

// lines_to_device, lines_to_host, slot_reuse.
struct LineTest {
    Direction direction;
    std::uint32_t capacity;
    unsigned rings_per_thread;
    bool slow_consumer = false;
    bool ignore_credit = false;  // the control
};
[[nodiscard]] Findings run_lines(VerifyStage const& stage, LineTest const& test,
                                 std::chrono::nanoseconds time);

// out_of_line, rows_out_of_line, bulk_out_of_line.
struct DataTest {
    Direction direction;
    OutOfLine order = OutOfLine::written;  // none: a control
    // to_device only
    bool rows = false;          // lines are sent, and taken, several at once
    bool relaxed_load = false;  // a control
    bool read_early = false;    // a control, of rows: data are read ahead of the line
    bool shared = false;        // they are taken as those of an MPMC ring
    // to_host only
    bool bulk = false;  // lines leave as bulk copies
};
[[nodiscard]] Findings run_data(VerifyStage const& stage, DataTest const& test,
                                std::chrono::nanoseconds time);

// bulk_answers.
struct BulkTest {
    std::size_t form;           // of answer_names()
    bool word_by_word = false;  // the control
};
[[nodiscard]] std::vector<std::string> answer_names();
[[nodiscard]] Findings run_bulk(VerifyStage const& stage, BulkTest const& test,
                                std::chrono::nanoseconds time);

// lines_mpmc_to_device. Two threads at least; on the emulated device, two blocks.
struct MpmcTest {
    std::uint32_t capacity;
    std::uint32_t stripe;
    unsigned blocks;  // of four warps
    bool slow_consumer = false;
    bool ignore_room = false;  // the control
};
[[nodiscard]] Findings run_mpmc(VerifyStage const& stage, MpmcTest const& test,
                                std::chrono::nanoseconds time);

// page_choice.
struct PageTest {
    std::uint32_t capacity;
    bool large = false;            // messages of 16 lines, four to a page
    bool first_page_only = false;  // the control
};
[[nodiscard]] Findings run_pages(VerifyStage const& stage, PageTest const& test,
                                 std::chrono::nanoseconds time);

// torn_lines, torn_batches.
enum class Storing : std::uint8_t {
    lines,    // one by one, each with its commit
    batches,  // in a row, with one commit
    columns,  // by 8-byte stores, the last word of every line first: the control
};
struct StoreForm {
    std::string name;
    detail::HostStores stores;
    bool used = true;  // by the library on this device: a torn quad is a violation
    Storing storing = Storing::lines;
};
[[nodiscard]] std::vector<StoreForm> store_forms(Device const& device,
                                                 Storing storing = Storing::lines);
[[nodiscard]] Findings run_torn(VerifyStage const& stage, StoreForm const& form,
                                std::chrono::nanoseconds time);

// two_lines_in_order.
[[nodiscard]] Findings run_pairs(VerifyStage const& stage, bool release,
                                 std::chrono::nanoseconds time);

// two_threads_in_order: another thread writes the second line, after it has seen the first one
// written; `fence`: the first thread fences in between.
[[nodiscard]] Findings run_two_threads(VerifyStage const& stage, bool fence,
                                       std::chrono::nanoseconds time);

// flag_other_mapping.
struct FlagTest {
    bool data_in_host_memory;
    OutOfLine order = OutOfLine::written;  // none: the control
};
[[nodiscard]] Findings run_flags(VerifyStage const& stage, FlagTest const& test,
                                 std::chrono::nanoseconds time);

// store_fence. Adds lines that never came to `findings`.
[[nodiscard]] std::vector<FenceReport> run_fences(VerifyStage const& stage,
                                                  std::chrono::nanoseconds time,
                                                  Findings& findings);

}  // namespace carillon::tool
