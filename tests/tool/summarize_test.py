#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/summarize on results that are made up here: what the keys are formed of, what is left out
where something was not measured, figures within sentences, what is stale, and figures that were typed.
Usage: summarize_test.py"""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "scripts"))
from figures import markers, plots, tables, typed, values  # noqa: E402

SCRIPTS = pathlib.Path(__file__).parents[2] / "scripts"
ENVIRONMENT = {
    "device": "a GPU",
    "cpu": "a CPU",
    "kernel_driver": "1",
    "store_instruction": "sse2",
    "date": "2026-01-02T03:04:05Z",
    "commit": "c0ffee",
    "iterations": 1,
    "rounds": 1,
    "clock_cost_ns": 1,
    "user_iterations": 1,
    "user_rounds": 1,
    "pause_ms": 3,
    "profile": False,
    "governor": "",
    "emulated": False,
    "idle_states": [{"name": "POLL"}],
    "write_ordering": 1,
}
VERIFY = {
    "lines_to_device": 1,
    "environment": ENVIRONMENT,
    "tests": [],
    "missing_store_fence": [],
    "write_combining": {"conclusion": "cached"},
}
PAYLOAD = ("1/1", "8/8", "12/12", "16/8", "24/24", "40/40", "48/48", "one-field", "768/768")


def row(name, p50, **fields):
    statistics = {"min_ns": p50, "p90_ns": p50, "p99_ns": 2 * p50, "p999_ns": p50, "max_ns": p50}
    return {"name": name, "p50_ns": p50, **statistics, **fields}


def results():
    return [
        row("raw-flag-near", 1000),
        row("raw-flag-far", 1200),
        row("line-echo", 1100),
        row("call", 1155),
        row("call-tuned", 1100),
    ]


def users():
    rows = [row(f"call-{size}", 1050, table="payload") for size in PAYLOAD]
    rows += [
        row("line-echo", 1000, table="payload"),
        row("raw-flag-near", 1000, table="payload"),
        row("raw-flag-wide", 1100, table="payload"),
        row("call-1-thread", 1000, table="threads", per_second=1e6),
        row("call-12-threads", 1200, table="threads", per_second=9e6),
        row("pool-8-threads", 2100, table="threads", blocks=32),
        row("call-after-sleep", 2500, table="pause"),
        row("line-echo-after-sleep", 2000, table="pause"),
        {"name": "channel", "table": "requests", "per_second": 6e6},
    ]
    return rows


PEERS = {
    "environment": {**ENVIRONMENT, "measured": "measured elsewhere", "method": "a run", "wrong_replies": 0},
    "results": [
        {**row("call", 1700), "system": "Carillon", "what": "Carillon"},
        {**row("raw-flag-near", 1600), "system": "bound", "what": "a flag"},
        {**row("cudaq-device-call", 105000), "system": "CUDA-Q", "what": "as shipped"},
    ],
    "uccl": {
        "measured": "measured elsewhere",
        "device": "a GPU",
        "kernel_driver": "1",
        "why_no_date": "no date",
        "method": "a run",
        "results": [],
    },
}


class Case(unittest.TestCase):
    def run_in(self, root, *arguments):
        return subprocess.run([sys.executable, root / "scripts/summarize", *arguments], capture_output=True, text=True)

    def folder(self, page, rtt, **others):
        """A checkout of its own, with README.md and docs/results.md; gone when the test ends."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        for name in ("docs/plots", "bench/results"):
            (root / name).mkdir(parents=True)
        shutil.copytree(SCRIPTS, root / "scripts")
        for text in (root / "README.md", root / "docs/results.md"):
            text.write_text(page)
        files = {"rtt": {"environment": ENVIRONMENT, **rtt}, "verify": VERIFY, **others}
        for name, content in files.items():
            (root / f"bench/results/{name}.json").write_text(json.dumps(content))
        return root


class SummarizeTest(Case):
    def summarize(self, rtt, **others):
        """The summary, and what the pages say then."""
        marks = "".join(f"<!-- {name}: begin -->\n<!-- {name}: end -->\n" for name in tables.BLOCKS)
        root = self.folder(marks, rtt, **others)
        ran = self.run_in(root, "--no-plots")
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        summary = json.loads((root / "bench/results/summary.json").read_text())
        return summary, (root / "README.md").read_text()

    def test_ratios_are_over_near_and_over_the_mean_of_near_and_far(self):
        summary, text = self.summarize({"results": results()})
        self.assertEqual(summary["path.call_over_raw_near"], 1.155)
        self.assertEqual(summary["path.call_over_raw"], 1.05)
        self.assertEqual(summary["path.call_p99_over_raw_p99"], 1.05)
        self.assertEqual(summary["speed.call_tuned_over_raw"], 1.0)
        self.assertIn("| `path.call_over_raw` | 1.05 | at most 1.10 | yes |", text)

    def test_what_was_not_measured_is_left_out(self):
        summary, text = self.summarize({"results": [row("raw-flag", 1000), row("call", 1100)]})
        self.assertFalse([key for key in summary if key.startswith(("path.", "users.", "speed."))])
        self.assertIn("Not measured yet", text)
        self.assertIn("takes **1.10 us** (p50, commit c0ffee).", text)
        self.assertNotIn("12 bytes each way", text)

    def test_the_short_table_has_microseconds_and_says_which_rows_are_of_another_run(self):
        _, text = self.summarize(
            {"results": [*results(), row("launch-sync", 8854), row("pinned-flag", 2527)], "users": users()}, peers=PEERS
        )
        self.assertIn("| **Carillon: `call`, 48 bytes each way** | 1.16 | 2.31 | 1.16 |", text)
        self.assertIn("A kernel launch takes 8.85 us, pinned memory polled by hand 2.53 us and a bare flag", text)
        self.assertIn("CUDA-Q Realtime as shipped \\* | 105 | 210 | 105 |", text)
        self.assertIn("\\* Another run, measured elsewhere", text)

    def test_a_row_of_few_samples_has_no_p999(self):
        for count, shown in ((999, ""), (1000, "2.00")):
            cells = tables.latency_row(row("call", 2000, count=count), "a call")
            self.assertEqual(cells[tables.LATENCIES.index("p999_ns") + 1], shown)

    def test_what_users_do_has_its_keys_and_tables(self):
        summary, text = self.summarize({"results": results(), "users": users()})
        figures = {key: value for key, value in summary.items() if key.startswith("users.")}
        self.assertEqual(
            figures,
            {
                "users.call_worst_size_over_line": 1.05,
                "users.call_12B_over_raw_near": 1.05,
                "users.call_12B_p99_over_raw_p99": 1.05,
                "users.call_default_over_raw_wide": 0.9545,
                "users.call_768_over_48": 1.0,
                "users.call_12_threads_over_1": 1.2,
                "users.pool_8_threads_over_1": 2.0,
                "users.call_after_pause_over_line": 1.25,
                "users.channel_per_s": 6000000,
            },
        )
        self.assertIn("(`call-12-threads`) | 1.20 | 1.20 | 1.20 | 2.40 | 1.20 | 9.00 |", text)
        self.assertIn("| `users.call_12_threads_over_1` | 1.20 | at most 1.10 | **no** |", text)
        self.assertIn("- `users.call_12_threads_over_1`, 1.20 (at most 1.10): Not explained.", text)
        self.assertIn("C-states: POLL", text)

    def test_threads_without_processors_have_a_reason_and_no_key(self):
        rows = [each for each in users() if each["name"] != "call-12-threads"]
        rows.append({"name": "call-12-threads", "table": "threads", "why_not": "2 processors"})
        summary, text = self.summarize({"results": results(), "users": rows})
        self.assertNotIn("users.call_12_threads_over_1", summary)
        self.assertIn("(`call-12-threads`) | 2 processors |", text)

    def ipc(self):
        rows = [row("in-process", 1000), row("other-process", 1020), row("one-client", 1000), row("all-clients", 1100)]
        for rings, longest in (("device", 500e3), ("host", 20e3)):
            rows += [{**row(name, 1000, rings=rings), "max_ns": longest, "count": 7} for name in ("attach", "exit")]
        return {"environment": ENVIRONMENT, "results": rows, "client_kills_ok": 100, "owner_kills_ok": 99}

    def test_other_processes_have_their_keys_and_targets(self):
        summary, text = self.summarize({"results": results()}, ipc=self.ipc())
        figures = {key: value for key, value in summary.items() if key.startswith("ipc.")}
        self.assertEqual(
            figures,
            {
                "ipc.call_over_in_process": 1.02,
                "ipc.clients_over_1": 1.1,
                "ipc.attach_stall_us": 500.0,
                "ipc.exit_stall_us": 500.0,
                "ipc.attach_stall_host_memory_us": 20.0,
                "ipc.exit_stall_host_memory_us": 20.0,
                "ipc.client_kills_ok": 100,
                "ipc.owner_kills_ok": 99,
            },
        )
        self.assertIn("| `ipc.call_over_in_process` | 1.02 | at most 1.03 | yes |", text)
        self.assertIn("| `ipc.exit_stall_us` | 500 | at most 333 | **no** |", text)
        self.assertIn("This one is the longest of 7 calls.", text)
        self.assertIn("| `ipc.owner_kills_ok` | 99 | at least 100 | **no** |", text)

    def test_kills_that_were_not_tried_have_no_key(self):
        result = {key: value for key, value in self.ipc().items() if not key.endswith("_ok")}
        summary, _ = self.summarize({"results": results()}, ipc=result)
        self.assertNotIn("ipc.client_kills_ok", summary)
        self.assertIn("ipc.call_over_in_process", summary)


class CheckTest(Case):
    PAGE = (
        "A call takes <!--= rtt:results[name=call].p50_ns | us -->?<!--=-->.\n"
        "<!-- headline: begin -->\n<!-- headline: end -->\n"
    )

    def made(self, page=PAGE):
        root = self.folder(page, {"results": results()})
        self.assertEqual(self.run_in(root, "--no-plots").returncode, 0)
        (root / "docs/plots/round-trip-tails.svg").write_text(plots.stamp(root / "bench/results", "round-trip-tails"))
        return root

    def problems(self, root, line):
        ran = self.run_in(root, "--check")
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        self.assertIn(line, ran.stdout)

    def test_what_was_made_is_not_stale_and_making_again_changes_nothing(self):
        root = self.made()
        self.assertIn(
            "A call takes <!--= rtt:results[name=call].p50_ns | us -->1.16 us<!--=-->.",
            (root / "README.md").read_text(),
        )
        ran = self.run_in(root, "--check")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_a_figure_a_block_and_a_summary_that_were_changed_are_stale(self):
        for file, old, new, line in (
            ("README.md", "1.16 us<!", "1.15 us<!", "README.md:1: is stale"),
            ("docs/results.md", "**1.16", "**1.15", "docs/results.md:3: is stale"),
            ("bench/results/summary.json", "1.155", "1.2", "bench/results/summary.json:"),
        ):
            root = self.made()
            path = root / file
            self.assertIn(old, path.read_text())
            path.write_text(path.read_text().replace(old, new))
            self.problems(root, line)

    def test_a_plot_is_older_than_data_that_changed(self):
        root = self.made()
        path = root / "bench/results/rtt.json"
        path.write_text(path.read_text() + " ")
        self.problems(root, "docs/plots/round-trip-tails.svg: is older than rtt.json")

    def test_a_key_without_a_value_and_a_block_that_there_is_not_are_errors_with_their_lines(self):
        root = self.folder(
            "\n\n<!-- nonsense: begin -->\n<!-- nonsense: end -->\nA <!--= rtt:results[name=no].p50_ns -->1<!--=-->\n",
            {"results": results()},
        )
        self.problems(root, "README.md:3: no block is named nonsense")
        self.problems(root, "README.md:5: rtt:results[name=no].p50_ns: no rows match [name=no]")


class ValuesTest(Case):
    def text(self, key):
        root = self.folder(
            "", {"results": [*results(), row("12/12", 1050)], "python.x": 3, "share": 0.25, "pause_ms": 3.0,
             "gpu": "NVIDIA H100 80GB HBM3", "geforce": "NVIDIA GeForce RTX 4090"},
        )
        return values.text_of(key, root / "bench/results")

    def test_values_and_their_formats(self):
        for key, text in (
            ("rtt:results[name=call].p50_ns | us", "1.16 us"),
            ("rtt:results[name=call].p50_ns", "1155"),
            ("rtt:results[name=12/12].p50_ns / rtt:results[name=raw-flag-near].p50_ns", "1.05"),
            ("rtt:results[name=call].p50_ns / results[name=raw-flag-near].p50_ns | x", "1.16×"),
            ("rtt:results[name=call].p50_ns - results[name=raw-flag-near].p50_ns | ns", "155 ns"),
            ("rtt:python.x", "3"),
            ("rtt:share | %", "25.0 %"),
            ("rtt:pause_ms | ms", "3 ms"),
            ("rtt:pause_ms \\| us", "3000 us"),
            ("rtt:gpu | GPU", "an H100"),
            ("rtt:geforce | GPU", "a GeForce RTX 4090"),
        ):
            self.assertEqual(self.text(key), text, key)

    def test_keys_without_a_value_say_why(self):
        for key, why in (
            ("nothing:a", "no results file"),
            ("rtt:a", "no member"),
            ("rtt:results[p99_ns=1].p50_ns", "no rows"),
            ("rtt:results[name=call].p50_ns | furlongs", "no format"),
            ("rtt:results", "no number"),
            ("rtt:environment.date", "no number"),
            ("rtt:pause_ms | GPU", "no name"),
            ("rtt:results[p50_ns=1100].name", "2 rows match"),
        ):
            with self.assertRaisesRegex(values.BadKey, why, msg=key):
                self.text(key)

    def test_three_significant_digits(self):
        for value, text in (
            (0.00867, "0.00867"),
            (0.9996, "1.00"),
            (9.996, "10.0"),
            (1.605, "1.61"),
            (123.4, "123"),
            (25371.0, "25371"),
            (7, "7"),
            (0.0, "0.0"),
        ):
            self.assertEqual(values.digits(value), text)


class TypedTest(Case):
    def typed(self, text):
        return [figure for _, figure in typed.typed_figures(text)]

    def test_the_machine_of_marked_figures_is_marked_too(self):
        marked = "takes <!--= a:b -->1<!--=-->"
        self.assertEqual(self.typed(f"A call on an H200\n{marked}.\n\nSeen on an H100."), ["on an H200"])
        self.assertEqual(self.typed(f"| seen on an H100 |\n| {marked} |\n\nSeen on an H100."), [])
        self.assertEqual(self.typed(f"On <!--= a:c | GPU -->an H200<!--=--> a call {marked}."), [])

    def test_numbers_with_units_are_found_and_their_lines(self):
        self.assertEqual(
            self.typed("takes 1.6 us, 50us, 20 %, 4.6 M/s, 18 GB/s, 5.7x and 3 times; 1 000 ns; 2\nminutes"),
            ["1.6 us", "50us", "20 %", "4.6 M/s", "18 GB/s", "5.7x", "3 times", "1 000 ns", "2 minutes"],
        )
        self.assertEqual(
            self.typed("2.6 GB, 1 GiB, 64 KiB/s, 8KB, 9 MB/s, 1 MiB, 5 kB, 4 Gb, 3 B"),
            ["2.6 GB", "1 GiB", "64 KiB/s", "8KB", "9 MB/s", "1 MiB", "5 kB"],
        )
        self.assertEqual(list(typed.typed_figures("one\n\nthen 3 ms")), [(3, "3 ms")])

    def test_code_blocks_markers_and_links_are_no_typed_figures(self):
        self.assertEqual(
            self.typed(
                "`5 us` [a](b-5us.md) <!--n why -->5 us<!--n--> <!--= a:b -->5 us<!--=-->\n"
                "```\n5 us\n```\n<!-- x: begin -->\n5 us\n<!-- x: end -->\n"
                "p99.9 of 48 bytes, sm_90, H100, 12 threads, 2 x 3"
            ),
            [],
        )

    def test_a_typed_figure_a_wrong_constant_and_a_missing_reason_are_errors_with_their_lines(self):
        root = self.folder("A call takes 1.6 us.\n", {"results": results()})
        (root / "a.hpp").write_text("int timeout_ms = 30;\n")
        page = root / "docs/a.md"
        page.write_text("of <!--c a.hpp timeout_ms -->40 ms<!--c-->\n\nand <!--n -->5 s<!--n-->\n")
        ran = self.run_in(root, "--typed")
        self.assertEqual(ran.returncode, 1)
        self.assertIn('README.md:1: "1.6 us" is typed', ran.stdout)
        self.assertIn("docs/a.md:1: <!--c a.hpp timeout_ms -->: a.hpp does not say 40 ms there", ran.stdout)
        self.assertIn("docs/a.md:3: <!--n -->", ran.stdout)
        # Pages beside sources count, too.
        for name in ("CONTRIBUTING.md", "examples/README.md", "python/README.md"):
            (root / name).parent.mkdir(exist_ok=True)
            (root / name).write_text("It needs 2 GB.\n")
            self.assertIn(f'{name}:1: "2 GB" is typed', self.run_in(root, "--typed").stdout)
        page.write_text("of <!--c a.hpp timeout_ms -->30 ms<!--c--> and <!--n a reason -->5 s<!--n-->\n")
        ran = self.run_in(root, "--typed", page)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_a_constant_is_looked_for_in_the_code(self):
        root = self.folder("", {"results": results()})
        (root / "a.hpp").write_text(
            "\n".join(
                [
                    "std::chrono::nanoseconds sleep =",
                    "    std::chrono::microseconds(50);",
                    "auto patience = 2'000'000ns;",
                    "int timeout_ms = 30;",
                    "int size = 1 << 20;",
                    "auto room = std::size_t{128} << 10;",
                    *[""] * 9,
                    "int far = 70;",
                ]
            )
        )
        for names, text in (
            ("a.hpp sleep", "50 us"),
            ("a.hpp sleep", "0.05 ms"),
            ("a.hpp patience", "2 ms"),
            ("a.hpp timeout_ms", "30 ms"),
            ("a.hpp size", "1 MiB"),
            ("a.hpp room", "0.125 MiB"),
        ):
            self.assertIsNone(typed.wrong_constant(names, text, root), (names, text))
        for names, text, why in (
            ("a.hpp sleep", "60 us", "does not say"),
            ("a.hpp sleep", "50 ms", "does not say"),
            ("a.hpp room", "64 KiB", "does not say"),
            ("a.hpp slee", "50 us", "has no slee"),
            ("b.hpp sleep", "50 us", "no file"),
            ("a.hpp sleep", "70 us", "does not say"),
            ("a.hpp", "50 us", "FILE IDENTIFIER"),
        ):
            self.assertIn(why, typed.wrong_constant(names, text, root), (names, text))

    def test_markers_have_a_partner_no_bare_bar_in_tables_and_a_word_before(self):
        for text, why in (
            ("a <!--= a:b -->1", "no partner"),
            ("| <!--= a:b | us -->1<!--=--> |", "is written"),
            ("a\n<!--= a:b -->1<!--=-->", "begins with a marker"),
            ("- <!--n x -->1<!--n-->", "begins with"),
        ):
            self.assertIn(why, " ".join(problem for _, problem in markers.malformed(text)), text)
        self.assertEqual(
            list(
                markers.malformed("a <!--= a:b | us -->1<!--=-->\n| <!--= a:b \\| us -->1<!--=--> |\n`<!--= a:b -->`\n")
            ),
            [],
        )


if __name__ == "__main__":
    unittest.main()
