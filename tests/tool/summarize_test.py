#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/summarize on results that are made up here: what the keys are formed of, and what is left
out where something was not measured. Usage: summarize_test.py"""
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts/summarize"
ENVIRONMENT = {"device": "a GPU", "cpu": "a CPU", "kernel_driver": "1", "store_instruction": "sse2",
               "date": "2026-01-02T03:04:05Z", "commit": "c0ffee", "iterations": 1, "rounds": 1,
               "clock_cost_ns": 1, "user_iterations": 1, "user_rounds": 1, "pause_ms": 3,
               "profile": False, "governor": "", "idle_states": [{"name": "POLL"}], "write_ordering": 1}
VERIFY = {"lines_to_device": 1, "environment": ENVIRONMENT, "tests": [], "missing_store_fence": [],
          "write_combining": {"conclusion": "cached"}}
PAYLOAD = ("1/1", "8/8", "12/12", "16/8", "24/24", "40/40", "48/48", "one-field", "768/768")


def row(name, p50, **fields):
    statistics = {"min_ns": p50, "p90_ns": p50, "p99_ns": 2 * p50, "p999_ns": p50, "max_ns": p50}
    return {"name": name, "p50_ns": p50, **statistics, **fields}


def results():
    return [row("raw-flag-near", 1000), row("raw-flag-far", 1200), row("line-echo", 1100),
            row("call", 1155), row("call-tuned", 1100)]


def users():
    rows = [row(f"call-{size}", 1050, table="payload") for size in PAYLOAD]
    rows += [row("line-echo", 1000, table="payload"), row("raw-flag-near", 1000, table="payload"),
             row("raw-flag-wide", 1100, table="payload"),
             row("call-1-thread", 1000, table="threads", per_second=1e6),
             row("call-12-threads", 1200, table="threads", per_second=9e6),
             row("pool-8-threads", 2100, table="threads", blocks=32),
             row("call-after-sleep", 2500, table="pause"),
             row("line-echo-after-sleep", 2000, table="pause"),
             {"name": "channel", "table": "requests", "per_second": 6e6}]
    return rows


class SummarizeTest(unittest.TestCase):
    def summarize(self, rtt, **others):
        """The summary, and what README.md and docs/results.md say then."""
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name in ("scripts", "docs", "results"):
                (root / name).mkdir()
            shutil.copy(SCRIPT, root / "scripts/summarize")
            marks = "".join(f"<!-- {name}: begin -->\n<!-- {name}: end -->\n" for name in
                            ("short", "results", "speed", "users", "machines"))
            texts = [root / "README.md", root / "docs/results.md", root / "docs/dev/guarantees.md"]
            for text in texts:
                text.write_text(marks)
            files = {"rtt": {"environment": ENVIRONMENT, **rtt}, "verify": VERIFY, **others}
            for name, content in files.items():
                (root / f"results/{name}.json").write_text(json.dumps(content))
            subprocess.run([sys.executable, root / "scripts/summarize", root / "results"], check=True,
                           capture_output=True)
            summary = json.loads((root / "results/summary.json").read_text())
            return summary, texts[0].read_text(), texts[1].read_text()

    def test_ratios_are_over_near_and_over_the_mean_of_near_and_far(self):
        summary, _, text = self.summarize({"results": results()})
        self.assertEqual(summary["path.call_over_raw_near"], 1.155)
        self.assertEqual(summary["path.call_over_raw"], 1.05)
        self.assertEqual(summary["path.call_p99_over_raw_p99"], 1.05)
        self.assertEqual(summary["speed.call_tuned_over_raw"], 1.0)
        self.assertIn("| `path.call_over_raw` | 1.050 | 1.10 |", text)

    def test_what_was_not_measured_is_left_out(self):
        summary, readme, text = self.summarize({"results": [row("raw-flag", 1000), row("call", 1100)]})
        self.assertFalse([key for key in summary if key.startswith(("path.", "users.", "speed."))])
        self.assertIn("Not measured yet", text)
        self.assertIn("| `call`: ", readme)
        self.assertNotIn("default options", readme)

    def test_what_users_do_has_its_keys_and_tables(self):
        summary, readme, text = self.summarize({"results": results(), "users": users()})
        figures = {key: value for key, value in summary.items() if key.startswith("users.")}
        self.assertEqual(figures, {"users.call_worst_size_over_line": 1.05,
                                   "users.call_12B_over_raw_near": 1.05,
                                   "users.call_12B_p99_over_raw_p99": 1.05,
                                   "users.call_default_over_raw_wide": 0.9545,
                                   "users.call_768_over_48": 1.0,
                                   "users.call_12_threads_over_1": 1.2,
                                   "users.pool_8_threads_over_1": 2.0,
                                   "users.call_after_pause_over_line": 1.25,
                                   "users.channel_per_s": 6000000})
        self.assertIn("| `call-12-threads` | 1200 | 1200 | 1200 | 2400 | 1200 | 9.00 |", text)
        self.assertIn("| `users.call_12_threads_over_1` | 1.2 | at most 1.1 | no |", text)
        self.assertIn("C-states: POLL", text)
        self.assertIn("| `call-16/8`: the example above, default options |", readme)

    def test_threads_without_processors_have_a_reason_and_no_key(self):
        rows = [each for each in users() if each["name"] != "call-12-threads"]
        rows.append({"name": "call-12-threads", "table": "threads", "why_not": "2 processors"})
        summary, _, text = self.summarize({"results": results(), "users": rows})
        self.assertNotIn("users.call_12_threads_over_1", summary)
        self.assertIn("| `call-12-threads` | 2 processors |", text)

    def ipc(self):
        rows = [row("in-process", 1000), row("other-process", 1020), row("one-client", 1000),
                row("all-clients", 1100)]
        for rings, longest in (("device", 500e3), ("host", 20e3)):
            rows += [{**row(name, 1000, rings=rings), "max_ns": longest} for name in ("attach", "exit")]
        return {"environment": ENVIRONMENT, "results": rows, "client_kills_ok": 100,
                "owner_kills_ok": 99}

    def test_other_processes_have_their_keys_and_targets(self):
        summary, _, text = self.summarize({"results": results()}, ipc=self.ipc())
        figures = {key: value for key, value in summary.items() if key.startswith("ipc.")}
        self.assertEqual(figures, {"ipc.call_over_in_process": 1.02, "ipc.clients_over_1": 1.1,
                                   "ipc.attach_stall_us": 500.0, "ipc.exit_stall_us": 500.0,
                                   "ipc.attach_stall_host_memory_us": 20.0,
                                   "ipc.exit_stall_host_memory_us": 20.0,
                                   "ipc.client_kills_ok": 100, "ipc.owner_kills_ok": 99})
        self.assertIn("| `ipc.call_over_in_process` | 1.02 | at most 1.03 | yes |", text)
        self.assertIn("| `ipc.exit_stall_us` | 500 | at most 333 | no |", text)
        self.assertIn("| `ipc.owner_kills_ok` | 99 | at least 100 | no |", text)

    def test_kills_that_were_not_tried_have_no_key(self):
        result = {key: value for key, value in self.ipc().items() if not key.endswith("_ok")}
        summary, _, _ = self.summarize({"results": results()}, ipc=result)
        self.assertNotIn("ipc.client_kills_ok", summary)
        self.assertIn("ipc.call_over_in_process", summary)


if __name__ == "__main__":
    unittest.main()
