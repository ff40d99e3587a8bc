// SPDX-License-Identifier: Apache-2.0
// The `carillon` command: an entry for each subcommand.
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

constexpr char const* check = "Check";
constexpr char const* measure = "Measure";
constexpr char const* serve_and_watch = "Run";

constexpr CommandEntry entries[] = {
    {check, "info", "list the devices, and how Carillon uses them",
     "For each device the list has its memory, the mapping into the CPU, the drivers, "
     "and the instruction with which the CPU stores messages.",
     "  carillon info                     list all devices\n"
     "  carillon info --json=info.json    also write the facts to a file",
     make_info_command},
    {check, "doctor", "check whether this machine can run persistent kernels",
     "The doctor looks at drivers, limits and the device, and calls a kernel. Each "
     "finding that is not ok comes with the reason and the fix. The exit status is 1 if "
     "persistent kernels do not work on the device.",
     "  carillon doctor                   check the default device\n"
     "  carillon doctor --device cuda:1   check the second GPU",
     make_doctor_command},
    {check, "verify", "test the memory order that Carillon relies on",
     "Litmus tests send messages and data in both directions and check each of them. A "
     "control leaves a part of the discipline out: if it fails, the test can see the "
     "fault on this machine. The exit status is 1 after a violation.",
     "  carillon verify                   run all tests in 10 s\n"
     "  carillon verify --time 1h         run them for an hour\n"
     "  carillon verify --data            check copies through the mapping",
     make_verify_command},
    {measure, "rtt", "measure round trips: calls, and their alternatives",
     "The first table has calls at best, beside bare flags, launches, graphs and stream "
     "writes. The other tables have calls with default options, by use. All kinds take "
     "turns on the same memory. Ctrl-C ends the run after the present turn.",
     "  carillon rtt                      measure on the default device\n"
     "  carillon rtt --device emulated --iterations 2000\n"
     "                                    measure quickly, without a GPU\n"
     "  carillon rtt --json=rtt.json      also write the figures to a file",
     make_rtt_command},
    {measure, "tune", "find the SMs and cores with the shortest calls",
     "The result is a placement profile of the device. Kernels with default options use "
     "the saved profile.",
     "  carillon tune                     measure, and save the profile\n"
     "  carillon tune --dry-run           measure only",
     make_tune_command},
    {serve_and_watch, "serve", "own a kernel that other processes command",
     "The kernel runs until SIGINT, SIGTERM or SIGHUP. The command then drains it: "
     "clients get the replies to their requests, and the command ends. A second signal "
     "ends the drain. The exit status is 1 if the kernel ended by itself, or if the drain "
     "failed.",
     "  carillon serve /run/user/1000/echo.sock --kernel echo\n"
     "                                    serve a built-in kernel\n"
     "  carillon serve /run/q.sock --library ./libquotes.so --blocks 4\n"
     "                                    serve a kernel of yours to four clients",
     make_serve_command},
    {serve_and_watch, "ls", "list owners, what they serve, and their clients",
     "The exit status is 1 if an owner did not answer.",
     "  carillon ls /run/q.sock           list one owner\n"
     "  carillon ls --json /run/*.sock    write the list as JSON",
     make_ls_command},
    {serve_and_watch, "top", "show the traffic of owners, live",
     "The table has a row for each block. On a narrow terminal it leaves out columns. "
     "With --once or --count the exit status is 1 if an owner did not answer the last "
     "time. --json writes a document, in one line, for each report.",
     "  carillon top /run/q.sock          watch one owner until q or Ctrl-C\n"
     "  carillon top --once /run/q.sock   show its counts once",
     make_top_command},
    {serve_and_watch, "metrics", "print the counts of owners for Prometheus",
     "The output is Prometheus' text format, version 0.0.4. An owner that does not "
     "answer is `carillon_up 0`, and no error.",
     "  carillon metrics /run/q.sock      print once\n"
     "  carillon metrics /run/q.sock --listen 127.0.0.1:9464\n"
     "                                    answer scrapes until SIGINT or SIGTERM",
     make_metrics_command},
};

}  // namespace
}  // namespace carillon::tool

int main(int argc, char** argv) {
    using namespace carillon::tool;
    return run_program({"carillon", "Low-latency command of a running GPU kernel from the CPU.",
                        "  carillon doctor    check this machine\n"
                        "  carillon rtt       measure round trips",
                        entries},
                       argc, argv);
}
