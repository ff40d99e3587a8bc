// SPDX-License-Identifier: Apache-2.0
// The table by payload, with default options.
#include <carillon/carillon.hpp>
#include <string>

#include "measure/line_rig.hpp"
#include "rtt/users/calls.hpp"

namespace carillon::tool {
namespace {

class UsersLine final : public UsersMeasure {
   public:
    explicit UsersLine(UsersStage stage) : stage_(std::move(stage)) {}

    void run(std::uint32_t count, UsersFigures& figures) override {
        LineRig rig(stage_.device, stage_.warm_up + count);
        time_trips(stage_.warm_up, count, figures.latencies, [&](std::uint32_t i) { rig.trip(i); });
        rig.await_end();
    }

   private:
    UsersStage stage_;
};

template <class Handler>
UsersRow call_row(UsersStage const& stage, std::string name) {
    return {"payload",
            std::move(name),
            {{"request_bytes", sizeof(typename Handler::Request)},
             {"reply_bytes", sizeof(typename Handler::Reply)}},
            std::make_unique<UsersCall<Handler>>(stage)};
}

template <unsigned request_bytes, unsigned reply_bytes>
UsersRow sized_row(UsersStage const& stage) {
    return call_row<Summing<request_bytes, reply_bytes>>(stage,
                                                         std::string("call-")
                                                             .append(std::to_string(request_bytes))
                                                             .append("/")
                                                             .append(std::to_string(reply_bytes)));
}

UsersRow flag_row(UsersStage const& stage, std::string name, FlagLayout const& layout) {
    return {"payload",
            std::move(name),
            {{"request_bytes", sizeof(std::uint32_t)}, {"reply_bytes", sizeof(std::uint32_t)}},
            std::make_unique<UsersFlags>(stage, layout)};
}

}  // namespace

void add_payload_rows(UsersStage const& stage, UsersRows& rows) {
    rows.push_back(sized_row<1, 1>(stage));
    rows.push_back(sized_row<8, 8>(stage));
    rows.push_back(sized_row<12, 12>(stage));
    rows.push_back(sized_row<16, 8>(stage));
    rows.push_back(sized_row<24, 24>(stage));
    rows.push_back(sized_row<40, 40>(stage));
    rows.push_back(sized_row<48, 48>(stage));
    rows.push_back(sized_row<56, 56>(stage));
    rows.push_back(sized_row<256, 256>(stage));
    rows.push_back(sized_row<768, 768>(stage));
    rows.push_back(sized_row<768, 8>(stage));
    rows.push_back(call_row<FirstWord>(stage, "call-first-word"));
    rows.push_back(call_row<OneField>(stage, "call-one-field"));
    rows.push_back({"payload",
                    "line-echo",
                    {{"request_bytes", sizeof(Words)}, {"reply_bytes", sizeof(Words)}},
                    std::make_unique<UsersLine>(stage)});
    rows.push_back(flag_row(stage, "raw-flag-near", {.place = FlagPlace::near_page}));
    rows.push_back(flag_row(stage, "raw-flag-far", {.place = FlagPlace::far_page}));
    rows.push_back(flag_row(stage, "raw-flag-wide", {.place = FlagPlace::in_a_row, .count = 1024}));
    rows.push_back(flag_row(stage, "pinned-flag", {.place = FlagPlace::in_a_row, .pinned = true}));
}

}  // namespace carillon::tool
