# SPDX-License-Identifier: Apache-2.0
"""The targets: each key of summary.json, its meaning, its computation from the results, and its limit.
`why` gives the reason for a missed target; {KEY} in it is a value (values.py)."""

import dataclasses
import json
import typing

AT_LEAST, AT_MOST = "at least", "at most"
# A bare flag on a page near its SM, and a flag on either page: luck would choose a page for the
# alternative, and so decide the comparison.
NEAR, EITHER = ("raw-flag-near",), ("raw-flag-near", "raw-flag-far")
ONE_LINE = (
    "call-1/1",
    "call-8/8",
    "call-12/12",
    "call-16/8",
    "call-24/24",
    "call-40/40",
    "call-48/48",
    "call-one-field",
)
LEAST_SOAK_SECONDS = 600
NOT_EXPLAINED = "Not explained."
STORES = (
    "One thread's plain stores are as fast: `memcpy` reaches {copy:results[name=memcpy,direction=to-device,bytes=%d]"
    ".gb_per_s | GB/s}, and the bare loop of 64-byte stores {rate:results[name=bare-stores].per_second * 64 / "
    "1000000000 | GB/s}. `DeviceWriter` is faster for large copies."
)


def commit_of(result):
    return result.get("environment", result.get("context", result)).get("commit", "")


class Results:
    """Measurements by the names of their files, which belong together. A KeyError says that one is
    not there."""

    def __init__(self, reports):
        self.rows = {name: report.get("results", []) for name, report in reports.items()}
        self.rows["users"] = reports.get("rtt", {}).get("users", [])
        self.rows["python"] = reports.get("python", {}).get("python", {})

    def find(self, file, statistic, **wanted):
        for row in self.rows.get(file, []):
            if all(row.get(key) == value for key, value in wanted.items()):
                return row[statistic]
        raise KeyError(wanted["name"])

    def rtt(self, *names, statistic="p50_ns"):
        """The mean of one or several."""
        return sum(self.find("rtt", statistic, name=name) for name in names) / len(names)

    def user(self, name, statistic="p50_ns", **wanted):
        return self.find("users", statistic, name=name, **wanted)

    def rate(self, name, **wanted):
        return self.find("rate", "per_second", name=name, **wanted)

    def cost(self, name):
        return self.find("rate", "ns", name=name)

    def python(self, name):
        return self.rows["python"][f"python.{name}"]

    def load(self, name, statistic):
        return self.find("load", statistic, name=name)

    def ipc(self, name, statistic="p50_ns", **wanted):
        return self.find("ipc", statistic, name=name, **wanted)

    def copy(self, name, direction, size, statistic):
        return self.find("copy", statistic, name=name, direction=direction, bytes=size)


@dataclasses.dataclass(frozen=True)
class Target:
    key: str
    what: str
    compute: typing.Callable[[Results], float]
    direction: str
    limit: float
    why: str = NOT_EXPLAINED

    def met(self, measured):
        return measured >= self.limit if self.direction == AT_LEAST else measured <= self.limit


def over(name, others, statistic="p50_ns"):
    return lambda r: r.rtt(name, statistic=statistic) / r.rtt(*others, statistic=statistic)


LINE = (
    "The line carries 48 bytes, the flag 4. The rest is not explained: `call`, which does more, takes "
    "{rtt:results[name=call].p50_ns | us} where `line-echo` takes {rtt:results[name=line-echo].p50_ns | us}."
)
# Two lines for a target, where a formatter makes seven.
# fmt: off
ROUND_TRIPS = (
    Target("path.line_echo_over_raw", "48 bytes ring to ring, over a bare flag (mean of near and far page)",
           over("line-echo", EITHER), AT_MOST, 1.05, LINE),
    Target("path.line_echo_over_raw_near", "48 bytes ring to ring, over a bare flag on the near page",
           over("line-echo", NEAR), AT_MOST, 1.05, LINE),
    Target("path.call_over_raw", "`call`, over a bare flag (mean of near and far page)", over("call", EITHER), AT_MOST,
           1.10),
    Target("path.call_over_raw_near", "`call`, over a bare flag on the near page", over("call", NEAR), AT_MOST, 1.10),
    Target("path.call_p99_over_raw_p99", "p99 of `call`, over p99 of a bare flag (mean)",
           over("call", EITHER, "p99_ns"), AT_MOST, 1.15),
    Target("path.call_p999_over_raw_p999", "p99.9 of `call`, over p99.9 of a bare flag (mean)",
           over("call", EITHER, "p999_ns"), AT_MOST, 1.2),
    Target("runtime.call_over_bare_call", "`call`, over a call to a kernel without stop and heartbeat",
           over("call", ("call-bare",)), AT_MOST, 1.02),
    Target("path.call_over_launch_sync", "`call`, over a launch and its synchronization",
           over("call", ("launch-sync",)), AT_MOST, 0.30),
)
SPEED = (
    Target("speed.call_tuned_over_raw", "tuned `call`, over a bare flag (mean of near and far page)",
           over("call-tuned", EITHER), AT_MOST, 0.95,
           "The flag is 4 bytes and the call 48. The two are {rtt:results[name=call-tuned].p50_ns - "
           "results[name=raw-flag-near].p50_ns | ns} apart on the near page."),
    Target("speed.call_tuned_over_raw_near", "tuned `call`, over a bare flag on the near page",
           over("call-tuned", NEAR), AT_MOST, 1.0,
           "The flag is 4 bytes and the call 48. The two are {rtt:results[name=call-tuned].p50_ns - "
           "results[name=raw-flag-near].p50_ns | ns} apart."),
    Target("speed.call_tuned_over_raw_wide", "tuned `call`, over a bare flag that walks over sixteen pages",
           over("call-tuned", ("raw-flag-wide",)), AT_MOST, 0.95),
    Target("speed.lines_1p1c_per_s", "lines per second, 1 thread, 1 ring", lambda r: r.rate("lines-1p1c"), AT_LEAST,
           200e6),
    Target("speed.lines_8p8r_per_s", "lines per second, 8 threads, a ring each",
           lambda r: r.rate("lines-8p8r", producers=8), AT_LEAST, 450e6),
    Target("speed.lines_8p1r_per_s", "lines per second, 8 threads, one ring",
           lambda r: r.rate("lines-8p1r", producers=8), AT_LEAST, 80e6),
    Target("speed.commands_all_sms_per_s", "commands per second from 1 thread to a block on each SM",
           lambda r: r.rate("commands-all-sms"), AT_LEAST, 50e6),
    Target("speed.replies_per_s", "messages per second from the GPU to 1 thread", lambda r: r.rate("replies"), AT_LEAST,
           100e6, "One CPU thread takes, checks and sums all of them. Its share is not measured apart."),
    Target("speed.call_64_rings_over_one", "`call` to a block that watches 64 channels, over a block with one",
           over("call-64-rings", ("call",)), AT_MOST, 1.15,
           "The block reads a row of doorbells first: one more dependent load in each round trip "
           "([design](design.md#many-rings-one-warp))."),
    Target("speed.h2d_4k_gbs", "copy of 4 KiB to the GPU by the CPU, GB/s",
           lambda r: r.copy("copy", "to-device", 4096, "gb_per_s"), AT_LEAST, 13),
    Target("speed.h2d_64k_gbs", "copy of 64 KiB to the GPU by the CPU, GB/s",
           lambda r: r.copy("copy", "to-device", 65536, "gb_per_s"), AT_LEAST, 22, STORES % 65536),
    Target("speed.h2d_1m_gbs", "copy of 1 MiB to the GPU by the CPU, GB/s",
           lambda r: r.copy("copy", "to-device", 1 << 20, "gb_per_s"), AT_LEAST, 23, STORES % (1 << 20)),
    Target("speed.read_64_over_call", "`DeviceReader` of 64 bytes, over `call`",
           lambda r: r.copy("reader", "to-host", 64, "p50_ns") / r.rtt("call"), AT_MOST, 1.15,
           "A read does more than a call: a block of 512 threads passes a barrier and a fence before it answers "
           "([design](design.md#copies-by-the-device)). Their share is not measured apart."),
    Target("speed.read_1m_gbs", "`DeviceReader` of 1 MiB, GB/s",
           lambda r: r.copy("reader", "to-host", 1 << 20, "gb_per_s"), AT_LEAST, 45),
    Target("speed.p999_load50_over_idle", "p99.9 at half of the highest rate, over p99.9 of single calls",
           lambda r: r.load("load-50", "p999_ns") / r.load("idle", "p999_ns"), AT_MOST, 2,
           "In part: a call counts from when it was due, so one stall delays all calls behind it. The stalls "
           "themselves are not explained: the longest single call without load took "
           "{load:results[name=idle].max_ns | us}."),
    Target("speed.try_push_batched_ns", "ns per message of `try_push_n` with 64 messages",
           lambda r: r.cost("try-push-batched"), AT_MOST, 10),
    Target("speed.try_push_over_store", "`try_push`, over a bare store of a line and its fence",
           lambda r: r.cost("try-push-single") / r.cost("store-fence"), AT_MOST, 1.1,
           "`try_push` also looks for room and composes the line, {rate:results[name=try-push-single].ns - "
           "results[name=store-fence].ns | ns} in all; the bare store's line is ready in memory."),
)
# Calls as real programs make them: kernels with default options, in one run with their alternatives.
USERS = (
    Target("users.call_worst_size_over_line", "slowest call of a message of one line, over 48 bytes ring to ring",
           lambda r: max(map(r.user, ONE_LINE)) / r.user("line-echo"), AT_MOST, 1.05),
    Target("users.call_12B_over_raw_near", "call of 12 bytes, over a bare flag on the near page",
           lambda r: r.user("call-12/12") / r.user("raw-flag-near"), AT_MOST, 1.05),
    Target("users.call_12B_p99_over_raw_p99", "p99 of a call of 12 bytes, over p99 of a bare flag on the near page",
           lambda r: r.user("call-12/12", "p99_ns") / r.user("raw-flag-near", "p99_ns"), AT_MOST, 1.08),
    Target("users.call_default_over_raw_wide", "call of 48 bytes, over a bare flag that walks over sixteen pages",
           lambda r: r.user("call-48/48") / r.user("raw-flag-wide"), AT_MOST, 0.97,
           "A message of one quad is at {rtt:users[name=call-12/12].p50_ns / users[name=raw-flag-wide].p50_ns}; the "
           "four quads of 48 bytes take {rtt:users[name=call-48/48].p50_ns - "
           "users[name=call-12/12].p50_ns | ns} more."),
    Target("users.call_768_over_48", "call of 768 bytes, over a call of 48 bytes",
           lambda r: r.user("call-768/768") / r.user("call-48/48"), AT_MOST, 1.5,
           "A handler that reads one word of 768 bytes and writes one (`call-first-word`) is at "
           "{rtt:users[name=call-first-word].p50_ns / users[name=call-48/48].p50_ns}. The rest is one GPU thread "
           "that reads 768 bytes and writes as many."),
    Target("users.call_12_threads_over_1", "call by 12 threads at once, over one thread",
           lambda r: r.user("call-12-threads") / r.user("call-1-thread"), AT_MOST, 1.10),
    Target("users.pool_8_threads_over_1", "8 threads that share a pool, over a call of one thread",
           lambda r: r.user("pool-8-threads", blocks=32) / r.user("call-16/8"), AT_MOST, 1.35),
    Target("users.call_after_pause_over_line", "first call after a sleep, over 48 bytes ring to ring after a sleep",
           lambda r: r.user("call-after-sleep") / r.user("line-echo-after-sleep"), AT_MOST, 1.25),
    Target("users.call_warm_over_line", "first call after `warm()`, over 48 bytes ring to ring after a spinning pause",
           lambda r: r.user("call-after-warm") / r.user("line-echo-after-spin"), AT_MOST, 1.05),
    Target("users.channel_per_s", "requests per second of a channel, one by one",
           lambda r: r.user("channel", "per_second"), AT_LEAST, 5e6),
    Target("users.channel_batched_per_s", "requests per second of a channel, 32 at a time",
           lambda r: r.user("channel-batched", "per_second"), AT_LEAST, 15e6),
    Target("users.pool_block_per_s", "requests per second of a pool with one block",
           lambda r: r.user("pool-block", "per_second"), AT_LEAST, 3e6),
    Target("users.h2d_pull_1m_gbs", "`DeviceWriter` of 1 MiB, GB/s",
           lambda r: r.copy("writer", "to-device", 1 << 20, "gb_per_s"), AT_LEAST, 42),
)
# Across processes. A stall is the longest call of a client while others attach, or exit: at most
# the stall with bare probes.
STALL = (
    "A process that opens or closes a Vulkan device interrupts the running kernel for a moment; bare probes without "
    "Carillon had the stall that is the target. This one is the longest of "
    "{ipc:results[name=%s,rings=device].count} calls."
)
IPC = (
    Target("ipc.call_over_in_process", "`call` from another process, over the owner's",
           lambda r: r.ipc("other-process") / r.ipc("in-process"), AT_MOST, 1.03),
    Target("ipc.clients_over_1", "8 processes at once, over one process",
           lambda r: r.ipc("all-clients") / r.ipc("one-client"), AT_MOST, 1.15),
    Target("ipc.attach_stall_us", "longest call while other processes attach, us",
           lambda r: r.ipc("attach", "max_ns", rings="device") / 1e3, AT_MOST, 1129, STALL % "attach"),
    Target("ipc.exit_stall_us", "longest call while other processes exit, us",
           lambda r: r.ipc("exit", "max_ns", rings="device") / 1e3, AT_MOST, 333, STALL % "exit"),
    Target("ipc.attach_stall_host_memory_us", "longest call while others attach, rings in host memory, us",
           lambda r: r.ipc("attach", "max_ns", rings="host") / 1e3, AT_MOST, 1129),
    Target("ipc.exit_stall_host_memory_us", "longest call while others exit, rings in host memory, us",
           lambda r: r.ipc("exit", "max_ns", rings="host") / 1e3, AT_MOST, 333),
    Target("ipc.store_get_over_cuda_ipc", "CUDA IPC's time for a buffer of 1 MiB, over the store's",
           lambda r: r.ipc("cuda-ipc-store-get") / r.ipc("store-get"), AT_LEAST, 5),
)
# From Python, each beside the C++ figure for the same channel or memory.
PYTHON = (
    Target("python.call_over_cpp_ns", "ns that a call with bytes takes more than in C++",
           lambda r: r.python("call_over_cpp_ns"), AT_MOST, 1500),
    Target("python.call_dtype_over_cpp_ns", "ns that a call with a NumPy record takes more than in C++",
           lambda r: r.python("call_dtype_over_cpp_ns"), AT_MOST, 1500),
    Target("python.call_tuple_over_cpp_ns", "ns that a call with a tuple takes more than in C++",
           lambda r: r.python("call_tuple_over_cpp_ns"), AT_MOST, 1500),
    Target("python.call_dataclass_over_cpp_ns", "ns that a call with a dataclass takes more than in C++",
           lambda r: r.python("call_dataclass_over_cpp_ns"), AT_MOST, 1500),
    Target("python.rows_over_cpp", "rows of 256 and of 10 000 messages, over C++ (the slower one)",
           lambda r: max(r.python("row_256_over_cpp"), r.python("row_10000_over_cpp")), AT_MOST, 1.2),
    Target("python.view_over_copy", "writing through a NumPy view, over a copy", lambda r: r.python("view_over_copy"),
           AT_MOST, 1.1),
)
# key: (file, how to make one of its values of these, which), in the place of a function.
RUNTIME = (
    Target("runtime.soak_lost", "messages lost, duplicated, reordered or corrupted in a long run under load",
           ("soak", sum, ("soak_lost", "soak_duplicated", "soak_reordered", "soak_corrupted")), AT_MOST, 0),
    Target("runtime.start_stop_cycles", "kernels started, called and stopped without a failure",
           ("cycles", sum, ("start_stop_cycles",)), AT_LEAST, 1000),
    Target("runtime.fault_repeats_ok_of_50", "kernels that broke as a typed error, of 50 of each kind",
           ("faults", min, ("trap", "address", "assertion", "loop")), AT_LEAST, 50),
    Target("runtime.kill_host_ok_of_100", "killed hosts whose kernel ended, of 100", ("faults", sum, ("kill_host",)),
           AT_LEAST, 100),
    Target("ipc.client_kills_ok", "killed clients that harmed nobody, of 100", ("ipc", sum, ("client_kills_ok",)),
           AT_LEAST, 100),
    Target("ipc.owner_kills_ok", "killed owners whose clients saw an error in time, of 100",
           ("ipc", sum, ("owner_kills_ok",)), AT_LEAST, 100),
)
# fmt: on
MEASURED = ROUND_TRIPS + SPEED + USERS + IPC + PYTHON
# The tables of docs/dev/targets.md.
GROUPS = {
    "Round trips": ROUND_TRIPS,
    "With default options": USERS,
    "Rates, copies, load": SPEED,
    "Across processes": IPC,
    "Python": PYTHON,
    "Faults and long runs": RUNTIME,
}


def speed(folder):
    """Each ratio compares figures of one commit. A figure that the newest commit lacks comes from the
    commit before, and KEY.commit names that one."""
    figures = {}
    paths = [folder / f"{name}.json" for name in ("rtt", "rate", "load", "copy", "ipc", "python")]
    reports = {path.stem: json.loads(path.read_text()) for path in paths if path.exists()}
    newest, *older = dict.fromkeys(map(commit_of, reports.values()))
    for of_commit in (newest, *older):
        results = Results({name: each for name, each in reports.items() if commit_of(each) == of_commit})
        for target in MEASURED:
            if target.key in figures:
                continue
            try:
                value = target.compute(results)
            except (KeyError, ZeroDivisionError):
                continue
            figures[target.key] = round(value) if value >= 1e6 else round(value, 4)
            if of_commit != newest:
                figures[f"{target.key}.commit"] = of_commit
    return figures


def ran_to_its_end(name, result):
    if name == "soak":
        return not result["failure"] and result["seconds"] >= LEAST_SOAK_SECONDS
    return name != "cycles" or result["failures"] == 0


def runtime(folder, newest):
    figures = {}
    for target in RUNTIME:
        name, combine, counts = target.compute
        path = folder / f"{name}.json"
        if not path.exists():
            continue
        result = json.loads(path.read_text())
        if not set(counts) <= set(result) or not ran_to_its_end(name, result):
            continue
        figures[target.key] = combine(result[count] for count in counts)
        if commit_of(result) != newest:
            figures[f"{target.key}.commit"] = commit_of(result) or "unknown"
    return figures
