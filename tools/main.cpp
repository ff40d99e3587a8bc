// SPDX-License-Identifier: Apache-2.0
// The `carillon` command: a line for each subcommand.
#include "command/main_program.hpp"
#include "doctor/doctor.hpp"
#include "info/info.hpp"
#include "ls/ls.hpp"
#include "metrics/metrics.hpp"
#include "rtt/rtt.hpp"
#include "serve/running_served.hpp"
#include "top/top.hpp"
#include "tune/tune.hpp"
#include "verify/verify.hpp"

namespace carillon::tool {
namespace {

constexpr CommandEntry entries[] = {
    {"info", "devices, and how they would be used", make_info_command},
    {"rtt", "round-trip latency, ours and the rivals', at best and as users call",
     make_rtt_command},
    {"doctor", "whether this machine can do what a persistent kernel needs, and what helps",
     make_doctor_command},
    {"serve", "owns a kernel that clients of other processes command", make_serve_command},
    {"ls", "who serves kernels, objects and buffers to other processes, and who has which",
     make_ls_command},
    {"metrics", "what goes through what is served, for Prometheus", make_metrics_command},
    {"top", "what goes through what is served, live", make_top_command},
    {"tune",
     "finds the SMs and cores with the shortest calls, and keeps them in a profile "
     "for later kernels",
     make_tune_command},
    {"verify", "litmus tests of the order that the rings rely on, each with a negative control",
     make_verify_command},
};

}  // namespace
}  // namespace carillon::tool

int main(int argc, char** argv) {
    using namespace carillon::tool;
    return run_program(
        {"carillon", "Low-latency command of a running GPU kernel from the CPU.", entries}, argc,
        argv);
}
