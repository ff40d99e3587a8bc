#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`carillon-bench` as its users run it: what each command reports, and how it fails.
Usage: laboratory_test.py PATH_OF_THE_PROGRAM"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAM, ProgramTest, keys_of, run, run_and_interrupt  # noqa: E402

RATES = {"lines-1p1c", "lines-8p8r", "lines-1p1r", "lines-8p1r", "lines-8p1r-single",
         "lines-8p1r-mutex", "lines-8p1r-mutex-single", "commands-all-sms", "replies",
         "bare-stores", "bare-stores-8", "pinned-polling"}
COSTS = {"try-push-single", "try-push-batched", "store-fence"}


def is_running(pid):
    """Not of a process that has ended and nobody has asked about."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class LaboratoryTest(ProgramTest):
    def test_copy_reports_both_directions_and_says_that_it_is_emulated(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.json"
            result = run("copy", "--device", "emulated", "--rounds", "1", "--largest", "5000",
                         f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(path.read_text())
        self.assertIn("EMULATED", result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        for direction, names in (("to-device", {"copy", "copy-cached", "copy-sse2", "memcpy", "writer",
                                                 "writer-registered", "writer-staged"}),
                                 ("to-host", {"copy", "memcpy", "reader"})):
            rows = [row for row in report["results"] if row["direction"] == direction]
            self.assertLessEqual(names, {row["name"] for row in rows})
            self.assertEqual({row["bytes"] for row in rows}, {64, 256, 1024, 4096})
        for row in report["results"]:
            self.assertEqual(set(row), {"name", "direction", "bytes", "p50_ns", "gb_per_s"})
            self.assertGreater(row["p50_ns"], 0)
            self.assertAlmostEqual(row["gb_per_s"], row["bytes"] / row["p50_ns"], places=6)

    def test_copy_prints_what_gdrcopys_programs_print(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "copy.json"
            result = run("copy", "--gdrcopy", "--device", "emulated", "--largest", "131072",
                         f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(path.read_text())
        self.assertIn("EMULATED", result.stdout)
        self.assertIn("write BW: ", result.stdout)
        self.assertIn("read BW: ", result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        sizes = [2 ** power for power in range(18)]
        for name in ("gdr_copy_to_mapping", "gdr_copy_from_mapping"):
            rows = [row for row in report["results"] if row["name"] == name]
            self.assertEqual([row["bytes"] for row in rows], sizes)
            for row in rows:
                self.assertGreater(row["iterations"], 0)
                self.assertAlmostEqual(row["mb_per_s"] * row["average_us"] * 1.048576,
                                       row["bytes"], delta=0.001 * row["bytes"])
        self.assert_fails(run("copy", "--gdrcopy", "--rounds", "2"), 2, "--rounds")

    def test_rate_reports_every_measure_and_says_that_it_is_emulated(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rate.json"
            result = run("rate", "--device", "emulated", "--time", "50ms", "--rounds", "2",
                         "--capacity", "1024", f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
            report = json.loads(path.read_text())
        self.assertIn("EMULATED", result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        rows = {row["name"]: row for row in report["results"]}
        self.assertLessEqual(RATES | COSTS, set(rows))
        for name, row in rows.items():
            with self.subTest(name):
                unit = "ns" if name in COSTS or name.endswith("-rtt") else "per_second"
                self.assertGreater(row[unit], 0)
                self.assertLessEqual(row[unit + "_min"], row[unit])
                self.assertLessEqual(row[unit], row[unit + "_max"])
        self.assertEqual(rows["lines-8p8r"]["rings"], rows["lines-8p8r"]["producers"])
        self.assertEqual(rows["lines-8p1r-mutex"]["sharing"], "mutex")

    def test_rate_has_options_for_each_way_to_take_messages(self):
        for option, value in (("--stripe", "8"), ("--warps", "2"), ("--batch", "16")):
            with self.subTest(option):
                result = run("rate", "--device", "emulated", "--time", "50ms", "--rounds", "1",
                             option, value, "--json")
                self.assertEqual(result.returncode, 0, result.stderr)
                rows = json.loads(result.stdout)["results"]
                self.assertLessEqual(RATES | COSTS, {row["name"] for row in rows})
                self.assertIn(int(value), [row.get(option[2:]) for row in rows])

    def test_ipc_shares_the_blocks_of_a_pool(self):
        result = run("ipc", "--pool", "--device", "emulated", "--calls", "20", "--clients", "2",
                     "--visits", "1", "--puts", "10", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(json.loads(result.stdout)["kernel"], "SharedPool")

    def test_idle_tells_what_waking_costs_by_policy(self):
        result = run("idle", "--device", "emulated", "--calls", "5", "--pause", "100us",
                     "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertIn("EMULATED", result.stderr)
        self.assertEqual(report["environment"]["blocks"], 1)
        rows = {row["name"]: row for row in report["results"]}
        self.assertIn("C-states: ", result.stderr)
        self.assertEqual([report["line"][key]["count"] for key in ("busy", "woken", "spun")],
                         [50, 5, 5])
        self.assertEqual(set(rows), {"spin", "backoff", "park"})
        self.assertEqual(rows["spin"]["longest_sleep_ns"], 0)
        for row in rows.values():
            self.assertEqual([row[key]["count"] for key in ("busy", "woken", "warm")], [50, 5, 5])
            self.assertNotIn("power_w", row)

    def test_ipc_measures_clients_in_other_processes(self):
        result = run("ipc", "--device", "emulated", "--calls", "100", "--clients", "3", "--visits", "2",
                     "--puts", "20", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("EMULATED", result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        self.assertEqual({row["name"]: row["count"] for row in report["results"] if "rings" not in row},
                         {"in-process": 100, "connection": 100, "other-process": 100,
                          "one-client": 100, "all-clients": 300, "store-get": 20,
                          "store-create": 20, "store-write": 20, "store-seal": 20, "store-seal-to-got": 20})
        self.assertIn("emulated", report["why_no_cuda_ipc"])
        stalls = [(row["name"], row["rings"]) for row in report["results"] if "rings" in row]
        self.assertEqual(stalls, [(name, rings) for rings in ("device", "host")
                                  for name in ("alone", "attach", "exit")])
        for ratio in ("call_over_in_process", "clients_over_1"):
            self.assertGreater(report[ratio], 0)
        self.assertNotIn("client_kills", report)

    def test_ipc_loses_nothing_when_processes_are_killed(self):
        result = run("ipc", "--device", "emulated", "--calls", "10", "--clients", "1", "--visits", "1",
                     "--puts", "10", "--client-kills", "12", "--owner-kills", "3", "--seed", "7", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("seed 7\n", result.stderr)
        report = json.loads(result.stdout)
        self.assert_on_the_page_of_commands(keys_of(report))
        self.assertEqual(report["client_kills_ok"], 12)
        clients, owners = report["client_kills"], report["owner_kills"]
        self.assertEqual(clients["failure"], "")
        self.assertEqual(clients["before"], clients["after"])
        self.assertGreater(clients["commands"], 0)
        # The time until a client knows depends on everything else on this machine.
        self.assertEqual(owners["ok"] + owners["late"], 3)
        self.assertEqual(owners["failure"], "")
        self.assertEqual(owners["sent"], owners["answered"] + owners["unknown"])
        self.assertGreater(owners["answered"], 0)

    def test_ipc_has_no_process_behind_it(self):
        """Those that it starts end with it, whatever ends it."""
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                [PROGRAM, "ipc", "--device", "emulated", "--client-kills", "1000000", "--calls", "10",
                 "--visits", "1"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                env=dict(os.environ, TMPDIR=folder)) as process:
            children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
            started = []
            end = time.monotonic() + 30
            while len(started) < 8 and time.monotonic() < end:
                started = children.read_text().split()
            process.kill()
            process.wait()
        self.assertEqual(len(started), 8)
        while any(is_running(pid) for pid in started) and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual([pid for pid in started if is_running(pid)], [])

    def test_a_folder_that_is_not_there_is_named_with_its_variable(self):
        result = run("ipc", "--device", "emulated", "--calls", "10",
                     env=dict(os.environ, TMPDIR="/nonexistent"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("make a folder in /nonexistent (TMPDIR): ENOENT (2): No such file",
                      result.stderr)

    def test_load_counts_from_when_a_call_was_due(self):
        result = run("load", "--device", "emulated", "--samples", "200", "--rounds", "2",
                     "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertGreater(report["channel_per_second"], 0)
        self.assertEqual([row["name"] for row in report["results"]],
                         ["idle", "load-10", "load-25", "load-50", "load-80", "load-95"])
        for row in report["results"]:
            with self.subTest(row["name"]):
                self.assertEqual(row["count"], 200)
                self.assertEqual(len(row["quantiles_ns"]), 104)
                self.assertEqual(row["quantiles_ns"], sorted(row["quantiles_ns"]))
                self.assertGreater(row["achieved_per_second"], 0)
                self.assertAlmostEqual(row["offered_per_second"],
                                       report["channel_per_second"] * row["percent"] / 100, 3)

    def soak(self, *arguments, **options):
        """What `carillon-bench soak` reports. Memory of a sanitizer's own grows."""
        result = run("soak", "--device", "emulated", *arguments, "--json", **options)
        if "CARILLON_SANITIZED" not in os.environ:
            self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("EMULATED", result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        warm, end = report["memory"]["warm"], report["memory"]["end"]
        for figure in ("descriptors", "threads"):
            self.assertGreater(warm[figure], 0)
            self.assertLessEqual(end[figure], warm[figure])
        self.assertGreater(warm["resident_bytes"], 0)
        return report

    def test_soak_loses_nothing(self):
        report = self.soak("--time", "500ms", "--load", "40", "--channels", "2")
        for wrong in ("lost", "duplicated", "reordered", "corrupted"):
            self.assertEqual(report["soak_" + wrong], 0)
        self.assertGreater(report["soak_commands"], report["soak_abandoned"])
        self.assertEqual(report["load_percent"], 40)
        self.assertEqual(report["channels"], 2)
        self.assertEqual(report["failure"], "")
        self.assertGreaterEqual(report["seconds"], 0.5)
        self.assertGreater(report["highest_per_second"], 0)
        self.assertGreater(report["achieved_per_second"], 0)

    def test_soak_with_several_lines_a_message_loses_nothing(self):
        for lines in (2, 16):
            with self.subTest(lines):
                report = self.soak("--time", "200ms", "--channels", "6", "--lines", str(lines))
                for wrong in ("lost", "duplicated", "reordered", "corrupted"):
                    self.assertEqual(report["soak_" + wrong], 0)
                self.assertGreater(report["soak_commands"], 0)
                self.assertEqual(report["lines"], lines)

    def test_soak_counts_starts_and_stops(self):
        report = self.soak("--cycles", "20")
        self.assertEqual(report["start_stop_cycles"], 20)
        self.assertEqual(report["failures"], 0)
        self.assertGreater(report["cycles_per_second"], 0)

    def test_soak_ends_on_one_processor(self):
        one = {min(os.sched_getaffinity(0))}
        for arguments in (["--time", "0.6"], ["--cycles", "5"]):
            with self.subTest(arguments[0]):
                self.soak(*arguments, preexec_fn=lambda: os.sched_setaffinity(0, one))

    def test_rate_and_load_end_on_one_processor(self):
        one = {min(os.sched_getaffinity(0))}
        for arguments in (["rate", "--time", "50ms", "--rounds", "1"],
                          ["load", "--samples", "100"]):
            with self.subTest(arguments[0]):
                result = run(*arguments, "--device", "emulated",
                             preexec_fn=lambda: os.sched_setaffinity(0, one))
                self.assertEqual(result.returncode, 0, result.stderr)

    def test_loops_are_reported_beside_the_alternatives(self):
        result = run("loops", "--device", "emulated", "--min-time", "1ms", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("EMULATED", result.stderr)
        report = json.loads(result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        rows = {row["name"]: row for row in report["results"]}
        self.assertLessEqual({"publish/memcpy+fence", "publish/cached/one-step",
                              "publish/cached/two-step", "chunks/memcpy+fence/65536/real_time",
                              "chunks/filled/65536/real_time"}, set(rows))
        for name, row in rows.items():
            with self.subTest(name):
                self.assertIn(name, result.stderr)
                self.assertGreater(row["real_time"], 0)

    def test_loops_run_those_that_a_pattern_finds(self):
        result = run("loops", "--device", "emulated", "--min-time", "1ms", "--filter", "memcpy",
                     "--json")
        names = [row["name"] for row in json.loads(result.stdout)["results"]]
        self.assertEqual(len(names), 3)
        self.assertTrue(all("memcpy" in name for name in names), names)

    def test_an_interrupt_loses_nothing_that_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            for line in (["rate", "--time", "1h", "--rounds", "1000"], ["copy", "--rounds", "1000"],
                         ["soak", "--time", "1h"], ["soak", "--cycles", "1000000"],
                         ["ipc", "--calls", "1000", "--clients", "2", "--visits", "1000000"],
                         ["ipc", "--calls", "10000000", "--clients", "2"],
                         ["load", "--samples", "5000000", "--rounds", "1"],
                         ["idle", "--calls", "100", "--pause", "10s"],
                         ["loops", "--min-time", "50ms"]):
                with self.subTest(line[0]):
                    result = run_and_interrupt(*line, "--device", "emulated", f"--json={path}",
                                               seconds={"soak": 0, "idle": 2}.get(line[0], 0.5))
                    if "CARILLON_SANITIZED" not in os.environ:  # what it took grew
                        self.assertEqual(result.returncode, 130, result.stderr)
                    document = json.loads(path.read_text())
                    self.assertTrue(document["interrupted"])
                    self.assertEqual(document["schema_version"], 1)
                    measured = {key: document[key] for key in set(document) - {"environment"}}
                    self.assertNotIn("null", json.dumps(measured))
                    self.assertNotIn("verdict: nothing", result.stdout)
                    self.assertNotIn("nan", result.stdout)
                    if "results" in document and line[0] != "loops":
                        self.assertEqual([row for row in document["results"]
                                          if row.get("count") == 0], [])
                    if line[0] != "loops":  # Google Benchmark has those keys
                        self.assert_on_the_page_of_commands(keys_of(document))

    def test_help_has_groups(self):
        text = run("--help").stdout
        self.assertEqual(re.findall(r"^(Measure|Stress):$", text, re.M), ["Measure", "Stress"])
        for name in ("rate", "load", "copy", "idle", "loops", "soak", "ipc"):
            told = run("help", name).stdout
            self.assertIsNone(re.search(r"UINT|FLOAT|TEXT| in \[|\{", told), told)
            self.assert_on_the_page_of_commands(set(re.findall(r"^  (--[\w-]+)", told, re.M)))
        self.assert_fails(run("nosuch"), 2, "unknown subcommand 'nosuch'; see carillon-bench --help")

    def test_bad_usage_exits_2(self):
        for arguments in ([], ["ring"], ["rate", "--time", "0"], ["rate", "--time", "nan"],
                          ["rate", "--rounds", "0"],
                          ["rate", "--device", "emulated", "--capacity", "1000"],
                          ["load", "--samples", "0"],
                          ["load", "--device", "emulated", "--capacity", "7"],
                          ["ipc", "--calls", "0"], ["ipc", "--clients", "0"], ["ipc", "--visits", "0"],
                          ["ipc", "--role", "nonsense"], ["ipc", "--seed", "007"],
                          ["soak", "--load", "0"], ["soak", "--lines", "3"], ["soak", "--cycles", "0"],
                          ["soak", "--cycles", "5", "--time", "1s"],
                          ["loops", "--min-time", "0"],
                          ["loops", "--device", "emulated", "--filter", "nosuch"]):
            with self.subTest(arguments):
                self.assert_fails(run(*arguments), 2, "")


if __name__ == "__main__":
    unittest.main()
