// SPDX-License-Identifier: Apache-2.0
// `carillon-bench`, the laboratory: a line for each subcommand.
#include "command/main_program.hpp"
#include "copy/run_copy.hpp"
#include "idle/idle.hpp"
#include "ipc/ipc.hpp"
#include "load/load.hpp"
#include "loops/loops.hpp"
#include "rate/rate.hpp"
#include "soak/soak.hpp"

namespace carillon::tool {
namespace {

constexpr CommandEntry entries[] = {
    {"rate", "messages a second, and what a push costs, beside the rivals", make_rate_command},
    {"load", "how long calls take that are sent on a schedule, by share of the highest rate",
     make_load_command},
    {"copy", "bandwidth of copies between CPU and device memory, ours and the rivals'",
     make_copy_command},
    {"soak", "whether anything is lost, or grows, under a long load or over many starts",
     make_soak_command},
    {"ipc",
     "calls from other processes, what clients that come and go cost, and whether anything is lost "
     "when processes are killed",
     make_ipc_command},
    {"idle", "what waking a block costs, and its waiting, by idle policy", make_idle_command},
    {"loops", "what publishing a line and filling a chunk cost, by Google Benchmark",
     make_loops_command},
};

}  // namespace
}  // namespace carillon::tool

int main(int argc, char** argv) {
    using namespace carillon::tool;
    return run_program(
        {"carillon-bench",
         "Measures Carillon, and what it is compared with, under load and over time.", entries},
        argc, argv);
}
