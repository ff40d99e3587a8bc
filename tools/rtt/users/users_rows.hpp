// SPDX-License-Identifier: Apache-2.0
// The parts of the tables of "what users do". Each table has a file; to add a row, add a line
// there.
#pragma once

#include <carillon/device.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "measure/latency.hpp"

namespace carillon::tool {

struct UsersStage {
    Device device;
    std::uint32_t warm_up;
    std::chrono::nanoseconds pause;
    std::uint32_t pauses;  // in a round
    unsigned processors;   // of the CPU
};

// The figures of a row's turns.
struct UsersFigures {
    Samples latencies;
    std::vector<double> per_second;  // one per turn, if calls are counted
};

// One way of making calls. run() makes `count` of them, or `count` in each thread.
class UsersMeasure {
   public:
    virtual ~UsersMeasure() = default;
    virtual void run(std::uint32_t count, UsersFigures& figures) = 0;
};

struct UsersRow {
    std::string table;
    std::string name;
    nlohmann::json fields;  // what it was measured with
    std::unique_ptr<UsersMeasure> measure;
    std::string why_not{};  // there is no measure, if so
    UsersFigures figures{};
};
using UsersRows = std::vector<UsersRow>;

// The tables.
void add_payload_rows(UsersStage const& stage, UsersRows& rows);
void add_thread_rows(UsersStage const& stage, UsersRows& rows);
void add_capacity_rows(UsersStage const& stage, UsersRows& rows);
void add_pause_rows(UsersStage const& stage, UsersRows& rows);
void add_request_rows(UsersStage const& stage, UsersRows& rows);

}  // namespace carillon::tool
