// SPDX-License-Identifier: Apache-2.0
// `carillon-bench`, the laboratory: an entry for each subcommand.
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

constexpr char const* measure = "Measure";
constexpr char const* stress = "Stress";

constexpr CommandEntry entries[] = {
    {measure, "rate", "measure messages per second, and the cost of a push",
     "Threads send to rings of their own or to a shared ring. The alternatives are bare "
     "stores, polled pinned memory, and a ring behind a mutex.",
     "  carillon-bench rate                     measure all in 20 s\n"
     "  carillon-bench rate --time 2min --rounds 10\n"
     "                                          measure longer, in more rounds",
     make_rate_command},
    {measure, "load", "measure calls on a schedule, by share of the highest rate",
     "The highest rate is measured first. A call is late if the calls before it are "
     "slow, and its time begins when it was due.",
     "  carillon-bench load                     measure all rates", make_load_command},
    {measure, "copy", "measure copies between CPU and device memory",
     "The alternatives are memcpy and cudaMemcpyAsync. The row of a copy appears when all "
     "copies of its size are measured.",
     "  carillon-bench copy                     measure copies up to 16 MiB\n"
     "  carillon-bench copy --gdrcopy           print what copylat and copybw print",
     make_copy_command},
    {measure, "idle", "measure the cost of waking an idle block, by idle policy",
     "Calls come right after another call, after a sleep of the calling thread, and "
     "after a pause with Client::warm().",
     "  carillon-bench idle --pause 1ms         wake blocks after a pause of 1 ms",
     make_idle_command},
    {measure, "loops", "measure publishing a line and filling a chunk",
     "The loops run in Google Benchmark, without a kernel.",
     "  carillon-bench loops --filter publish   run only these loops", make_loops_command},
    {stress, "soak", "check that a long load loses nothing and memory does not grow",
     "The exit status is 1 if a request was lost, doubled, reordered or corrupted, or if "
     "memory, descriptors or threads grew.",
     "  carillon-bench soak --time 1h           send calls for an hour\n"
     "  carillon-bench soak --cycles 1000       start, call and stop a kernel 1000 times",
     make_soak_command},
    {stress, "ipc", "measure calls from other processes, and kill processes",
     "The report has calls of clients in other processes, the cost of clients that "
     "attach and leave, and buffers of a store. With kills, the exit status is 1 if "
     "anything was lost.",
     "  carillon-bench ipc                      measure, without kills\n"
     "  carillon-bench ipc --client-kills 1000 --owner-kills 100\n"
     "                                          also kill clients and owners",
     make_ipc_command},
};

}  // namespace
}  // namespace carillon::tool

int main(int argc, char** argv) {
    using namespace carillon::tool;
    return run_program(
        {"carillon-bench",
         "Carillon's laboratory: measurements under load, over time and between processes.",
         "  carillon-bench rate                  measure messages per second\n"
         "  carillon-bench soak --time 10min     look for lost messages and growing memory",
         entries},
        argc, argv);
}
