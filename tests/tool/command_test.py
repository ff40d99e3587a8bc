#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The `carillon` command as its users run it: what it prints, how it fails, what it needs.
Usage: command_test.py PATH_OF_THE_COMMAND"""
import functools
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from program import PROGRAM, ProgramTest, keys_of, run, run_and_interrupt  # noqa: E402

MEASURES = ["raw-flag-near", "raw-flag-far", "pinned-flag", "line-echo", "call-bare", "call",
            "call-64-rings", "raw-flag-wide", "call-tuned"]
TABLES = {"payload", "threads", "capacity", "pause", "requests"}
STATISTICS = {"name", "count", "min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns",
              "quantiles_ns"}
LITMUS_TESTS = {"lines_to_device", "lines_to_host", "lines_mpmc_to_device", "torn_lines",
                "torn_batches", "two_lines_in_order", "two_threads_in_order",
                "out_of_line_to_device", "out_of_line_to_host", "slot_reuse_to_device",
                "slot_reuse_to_host", "flag_other_mapping", "store_fence", "rows_out_of_line",
                "bulk_answers", "bulk_out_of_line", "page_choice"}


class CommandTest(ProgramTest):
    def test_info_lists_the_emulated_device(self):
        devices = json.loads(run("info", "--json").stdout)["devices"]
        self.assertIn("emulated", [device["selector"] for device in devices])
        self.assertIn("emulated", run("info").stdout)

    def test_ls_says_of_each_path_who_is_there(self):
        result = run("ls", "/nonexistent/kernel.sock")
        self.assertEqual(result.returncode, 1)
        self.assertIn("/nonexistent/kernel.sock: ", result.stdout)
        self.assertIn("1 of 1 owners did not answer", result.stderr)
        self.assert_fails(run("ls"), 2, "PATH is required")

    def test_rtt_reports_every_measure_and_says_that_it_is_emulated(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rtt.json"
            result = run("rtt", "--device", "emulated", "--iterations", "200", f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("EMULATED", result.stdout)
            report = json.loads(path.read_text())
        self.assertTrue(report["environment"]["emulated"])
        self.assertGreater(report["environment"]["clock_cost_ns"], 0)
        self.assertEqual([row["name"] for row in report["results"]], MEASURES)
        for row in report["results"]:
            self.assertEqual(set(row), STATISTICS)
            self.assertEqual(row["count"], 200)
            ordered = [row[key] for key in ("min_ns", "p50_ns", "p90_ns", "p99_ns", "p999_ns",
                                            "max_ns")]
            self.assertEqual(ordered, sorted(ordered))
            self.assertGreater(row["min_ns"], 0)

    def test_rtt_reports_what_users_do(self):
        result = run("rtt", "--device", "emulated", "--iterations", "20", "--user-iterations", "50",
                     "--pause", "500us", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertEqual(report["environment"]["pause_ms"], 0.5)
        self.assertEqual(report["environment"]["user_iterations"], 50)
        self.assertIsInstance(report["environment"]["idle_states"], list)
        self.assertIn("C-states: ", result.stderr)
        self.assertEqual({row["table"] for row in report["users"]}, TABLES)
        names = [row["name"] for row in report["users"]]
        self.assertEqual(len(names), len(set(names)))
        self.assertNotIn("CARILLON_MEMBERS", result.stderr)
        for row in report["users"]:
            with self.subTest(row["name"]):
                self.assertIn(row["name"], result.stderr)
                if "why_not" in row:
                    self.assertGreater(row["threads"], len(os.sched_getaffinity(0)))
                elif row["table"] == "requests":
                    self.assertGreater(row["per_second"], 0)
                else:
                    calls = 5 if row["table"] == "pause" else 50 * row.get("threads", 1)
                    self.assertEqual(row["count"], calls)
                    self.assertLessEqual(row["min_ns"], row["p50_ns"])

    def test_json_alone_goes_to_standard_output(self):
        result = run("rtt", "--device", "emulated", "--iterations", "20", "--json")
        self.assertEqual(len(json.loads(result.stdout)["results"]), len(MEASURES))

    def test_rtt_waits_as_it_is_told(self):
        result = run("rtt", "--device", "emulated", "--iterations", "20", "--wait", "yield",
                     "--json")
        self.assertEqual(json.loads(result.stdout)["environment"]["wait"], "yield")

    def test_rtt_ends_on_one_processor(self):
        one = {min(os.sched_getaffinity(0))}
        result = run("rtt", "--device", "emulated", "--iterations", "500",
                     preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(result.returncode, 0, result.stderr)

    @unittest.skipIf("CARILLON_SANITIZED" in os.environ, "a sanitizer has memory of its own")
    def test_rtt_needs_under_100_megabytes(self):
        def needs(iterations, user_iterations):
            pid = os.posix_spawn(PROGRAM, [PROGRAM, "rtt", "--device", "emulated", "--iterations",
                                            iterations, "--user-iterations", user_iterations],
                                 os.environ, file_actions=[(os.POSIX_SPAWN_OPEN, 1, "/dev/null",
                                                            os.O_WRONLY, 0)])
            _, status, usage = os.wait4(pid, 0)
            self.assertEqual(status, 0)
            return usage.ru_maxrss * 1024

        few, many = needs("1000", "50"), needs("20000", "1000")
        self.assertLess(many, 100_000_000)
        # Every round trip is kept: four bytes for each.
        self.assertLess(many - few, 8_000_000)

    def test_verify_of_data_prints_a_line_a_check(self):
        result = run("verify", "--data", "--device", "emulated", "--json")
        self.assertEqual(result.returncode, 0, result.stderr)
        report = json.loads(result.stdout)
        self.assertIn("EMULATED", result.stderr)
        checks = report["checks"]
        self.assertEqual({check["shape"] for check in checks},
                         {"words", "lines", "unaligned", "megabyte"})
        self.assertEqual({check["direction"] for check in checks},
                         {"cpu-to-device", "device-to-cpu"})
        self.assertEqual(sum(check["failed"] for check in checks), 0)
        self.assertEqual(result.stderr.count("passed "), len(checks))

    def test_tune_keeps_a_profile_unless_told_not_to(self):
        with tempfile.TemporaryDirectory() as folder:
            profiles = pathlib.Path(folder) / "new"
            environment = dict(os.environ, CARILLON_PROFILES=str(profiles))
            result = run("tune", "--device", "emulated", "--time", "1s", "--dry-run", "--json",
                         env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertFalse(profiles.exists())
            report = json.loads(result.stdout)
            self.assertFalse(report["saved"])
            self.assertEqual([place["id"] for place in report["sms"]], [0])
            self.assertLessEqual({core["id"] for core in report["cores"]}, os.sched_getaffinity(0))
            for pages in ("request_pages", "reply_pages"):
                self.assertLessEqual(report[pages]["best_ns"], report[pages]["worst_ns"])
            result = run("tune", "--device", "emulated", "--time", "1s", env=environment)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("EMULATED", result.stdout)
            self.assertIn(str(profiles / "emulated.json"), result.stdout)
            kept = json.loads((profiles / "emulated.json").read_text())
            self.assertEqual(kept["uuid"], "")

    def test_output_that_cannot_be_written_is_an_error(self):
        lines = {("info",), ("info", "--json"), ("--help",), ("--version",),
                 ("metrics", "/nonexistent"), ("top", "--once", "--json", "/nonexistent"),
                 ("doctor", "--device", "emulated", "--json")}
        with open("/dev/full", "w") as full, tempfile.TemporaryDirectory() as folder:
            lines.add(("serve", "--device", "emulated", f"{folder}/s.sock"))
            for line in lines:
                with self.subTest(line):
                    result = subprocess.run([PROGRAM, *line], stdout=full, stderr=subprocess.PIPE,
                                            text=True, timeout=60, check=False)
                    self.assertEqual(result.returncode, 1, result.stderr)
                    self.assertIn("No space left on device", result.stderr)
                    self.assertEqual(result.stderr.count("carillon: "), 1, result.stderr)
        for line in (("info",), ("info", "--json=-"), ("--version",)):
            with self.subTest(line):
                result = subprocess.run(["sh", "-c", '"$@" >&-', "sh", PROGRAM, *line],
                                        capture_output=True, text=True, timeout=60, check=False)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn("standard output: EBADF (9): Bad file descriptor", result.stderr)

    def test_a_reader_that_goes_away_is_no_error(self):
        for line in (("info",), ("top", "--interval", "0.05", "/nonexistent")):
            with self.subTest(line):
                with subprocess.Popen([PROGRAM, *line], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True) as command:
                    command.stdout.close()
                    self.assertEqual(command.stderr.read(), "")
                    self.assertEqual(command.wait(timeout=60), 0)

    def test_json_goes_to_a_file_or_to_standard_output_by_any_name(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            result = run("info", f"--json={path}")
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("emulated: ", result.stdout)
            self.assertIn("devices", json.loads(path.read_text()))
            result = run("ls", f"--json={path}", "/nonexistent")
            self.assertIn("/nonexistent: ", result.stdout)
            self.assertIn("owners", json.loads(path.read_text()))
            with path.open("w") as out:
                subprocess.run([PROGRAM, "doctor", "--device", "emulated", f"--json={path}"],
                               stdout=out, stderr=subprocess.DEVNULL, timeout=60, check=False)
            self.assertIn("findings", json.loads(path.read_text()))
        result = run("doctor", "--device", "emulated", "--json=/dev/stdout")
        self.assertIn("findings", json.loads(result.stdout))
        self.assertIn("owners", json.loads(run("ls", "--json", "/nonexistent").stdout))

    def test_a_file_that_may_not_grow_is_an_error(self):
        with tempfile.TemporaryDirectory() as folder:
            result = run("info", f"--json={folder}/out.json",
                         preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)))
        self.assertEqual(result.returncode, 1)
        self.assertIn("File too large", result.stderr)

    def test_a_terminal_that_can_do_nothing_is_not_drawn_on(self):
        for terminal in ("dumb", ""):
            with self.subTest(terminal):
                leader, follower = os.openpty()
                with subprocess.Popen([PROGRAM, "top", "--count", "2", "--interval", "0.05",
                                       "/nonexistent"], stdin=follower, stdout=follower,
                                      env={**os.environ, "TERM": terminal}) as command:
                    os.close(follower)
                    shown = b""
                    try:
                        while block := os.read(leader, 4096):
                            shown += block
                    except OSError:  # the terminal's last user has gone
                        pass
                    command.wait(timeout=60)
                os.close(leader)
                self.assertIn(b"/nonexistent", shown)
                self.assertNotIn(b"\x1b", shown)

    def test_progress_is_shown_on_a_terminal_alone(self):
        for terminal in ("xterm", "dumb"):
            with self.subTest(terminal):
                leader, follower = os.openpty()
                subprocess.run([PROGRAM, "verify", "--device", "emulated", "--time", "4s"],
                               stdout=subprocess.DEVNULL, stderr=follower, timeout=60, check=True,
                               env={**os.environ, "TERM": terminal})
                os.write(follower, b"end\n")
                shown = b""
                while b"end" not in shown:
                    shown += os.read(leader, 4096)
                os.close(leader)
                os.close(follower)
                self.assertEqual(b" s left" in shown, terminal == "xterm", shown)

    def test_permissions_that_no_socket_has_are_refused(self):
        for mode in ("40000000600", "0x1ff", "", "0", "1777"):
            with self.subTest(mode):
                self.assert_fails(run("serve", "--device", "emulated", "--mode", mode,
                                      "/nonexistent/s.sock"), 2, "mode")

    def test_verify_finds_no_violation_and_says_that_it_is_emulated(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "verify.json"
            result = run("verify", "--device", "emulated", "--time", "1s", "--threads", "1",
                         f"--json={path}")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            report = json.loads(path.read_text())
        self.assertIn("EMULATED", result.stdout)
        self.assertIn("\nverdict: no violations in ", result.stdout)
        self.assertTrue(report["environment"]["emulated"])
        self.assertEqual(report["seconds"], 1)
        self.assertEqual(report["threads"], 1)
        self.assertEqual(report["violations"], 0)
        self.assertEqual({test["name"] for test in report["tests"]}, LITMUS_TESTS)
        self.assert_on_the_page_of_commands(keys_of(report))
        for test in report["tests"]:
            with self.subTest(test["name"]):
                self.assertIn(test["name"], result.stdout)
                self.assertGreater(test["checks"], 0)
                self.assertEqual(test["evidence"], [])
        for direction in ("lines_to_device", "lines_to_host"):
            checks = [test["checks"] for test in report["tests"] if test["name"] == direction]
            self.assertEqual([report[direction]], checks)
        self.assertEqual(report["write_combining"]["conclusion"], "cached")
        self.assertIn("8-byte flag", [each["form"] for each in report["missing_store_fence"]])

    def test_verify_ends_on_one_processor(self):
        one = {min(os.sched_getaffinity(0))}
        result = run("verify", "--device", "emulated", "--time", "1s",
                     preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def doctor(self, *arguments, status=0, **options):
        """What the doctor says, by the findings' names."""
        result = run("doctor", *arguments, "--json", **options)
        self.assertEqual(result.returncode, status, result.stderr)
        report = json.loads(result.stdout)
        for finding in report["findings"]:
            with self.subTest(finding["id"]):
                self.assertEqual(set(finding), {"id", "severity", "found", "why", "fix"})
                self.assertIn(finding["severity"], ("ok", "note", "warning", "error"))
                self.assertEqual(finding["fix"] == "", finding["severity"] == "ok")
        worst = [finding["severity"] for finding in report["findings"]]
        self.assertEqual(report["errors"], worst.count("error"))
        self.assertEqual(report["warnings"], worst.count("warning"))
        self.assertIn("version", report["environment"])
        return {finding["id"]: finding for finding in report["findings"]}

    def test_doctor_calls_the_emulated_device(self):
        result = run("doctor", "--device", "emulated")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("device.call", result.stdout)
        findings = self.doctor("--device", "emulated")
        self.assertEqual(findings["device.open"]["severity"], "ok")
        self.assertEqual(findings["device.call"]["severity"], "ok")

    def test_doctor_warns_of_one_processor(self):
        one = {min(os.sched_getaffinity(0))}
        findings = self.doctor("--device", "emulated",
                               preexec_fn=lambda: os.sched_setaffinity(0, one))
        self.assertEqual(findings["cpu.processors"]["severity"], "warning")

    def test_doctor_names_the_vulkan_driver_that_is_not_there(self):
        environment = dict(os.environ, VK_DRIVER_FILES="/nowhere/icd.json")
        findings = self.doctor("--device", "emulated:vulkan", status=1, env=environment)
        self.assertEqual(findings["vulkan.icd"]["severity"], "error")
        self.assertIn("/nowhere/icd.json", findings["vulkan.icd"]["found"])
        self.assertEqual(findings["vulkan.icd"]["fix"], "unset VK_DRIVER_FILES")
        result = run("doctor", "--device", "emulated:vulkan", env=environment)
        self.assertIn("/nowhere/icd.json", result.stdout)
        self.assertTrue(result.stderr.strip().splitlines()[-1].startswith("carillon: doctor: "))
        self.assertIn("vulkan.icd", result.stderr)

    def test_doctor_does_without_a_gpu_unless_one_was_asked_for(self):
        environment = dict(os.environ, CUDA_VISIBLE_DEVICES="")
        findings = self.doctor(env=environment)
        self.assertEqual(findings["device.call"]["severity"], "ok")
        self.assertEqual(findings["driver.gpus"]["severity"], "warning")
        findings = self.doctor("--device", "cuda:0", status=1, env=environment)
        self.assertEqual(findings["device.open"]["severity"], "error")
        self.assertEqual(findings["driver.gpus"]["severity"], "error")

    def test_a_result_that_cannot_be_written_fails(self):
        result = run("rtt", "--device", "emulated", "--iterations", "20", "--json=/nowhere/x")
        self.assertEqual(result.returncode, 1)
        self.assertIn("carillon: write /nowhere/x", result.stderr)

    def test_bad_usage_exits_2(self):
        for arguments in ([], ["ring"], ["rtt", "--iterations", "0"], ["rtt", "--loud"],
                          ["rtt", "--device", "nonsense"], ["verify", "--time", "0"],
                          ["verify", "--time", "nan"],
                          ["rtt", "--device", "emulated", "--capacity", "7"],
                          ["rtt", "--pause", "0"], ["rtt", "--user-iterations", "0"],
                          ["tune", "--time", "0"], ["doctor", "--device", "nonsense"],
                          ["rtt", "--device", "emulated", "--wait", "nonsense"]):
            with self.subTest(arguments):
                self.assert_fails(run(*arguments), 2, "")

    def test_an_unknown_subcommand_is_named(self):
        for words in (["nosuch"], ["nosuch", "--device", "emulated"], ["nosuch", "info"],
                      ["help", "nosuch"], ["nosuch", "--help"]):
            with self.subTest(words):
                self.assert_fails(run(*words), 2, "unknown subcommand 'nosuch'; see carillon --help")
        self.assert_fails(run(), 2, "no subcommand; see carillon --help")

    def test_an_unknown_option_is_named_with_the_help_that_lists_the_others(self):
        self.assert_fails(run("--nosuch"), 2, "unknown option '--nosuch'; see carillon --help")
        for words in (["serve", "--devise", "emulated", "s.sock"], ["ls", "--devise"]):
            with self.subTest(words):
                self.assert_fails(run(*words), 2,
                                  f"unknown option '--devise'; see carillon {words[0]} --help")

    def test_a_file_for_json_without_an_equals_sign_is_explained(self):
        self.assert_fails(run("rtt", "--json", "x.json"), 2, "a file for --json is --json=FILE")

    def test_help_and_version_are_subcommands_too(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertEqual(run("help", "rtt").stdout, run("rtt", "--help").stdout)
        self.assertEqual(run("version").stdout, run("--version").stdout)

    def test_help_has_groups_and_no_types(self):
        text = run("--help").stdout
        groups = re.findall(r"^(Check|Measure|Run):$", text, re.M)
        self.assertEqual(groups, ["Check", "Measure", "Run"])
        names = re.findall(r"^  (\w+) +\w", text.split("Check:")[1].split("help SUBCOMMAND")[0], re.M)
        self.assertEqual(names, ["info", "doctor", "verify", "rtt", "tune", "serve", "ls", "top",
                                 "metrics"])
        for name in names:
            with self.subTest(name):
                told = run(name, "--help").stdout
                self.assertIsNone(re.search(r"UINT|FLOAT|TEXT|BOOLEAN|ENUM| in \[|\{|\[\]", told), told)
                self.assertIn("\nExamples:\n  carillon " + name, told)
                self.assert_on_the_page_of_commands(set(re.findall(r"^  (--[\w-]+)", told, re.M)))
                self.assertLessEqual(max(map(len, told.splitlines())), 80)
                for option in re.findall(r"^  (--\w+ \S.*|--\w+\[=FILE\].*)$", told, re.M):
                    self.assertRegex(option, r"^--\S+( [A-Z:]+)? +[a-z]|^--\S+ [A-Z:]+$", told)

    def test_times_have_units_and_numbers_keep_their_digits(self):
        for wrong, words in (("3x", "x unit not recognized"), ("11s", "is not a time from 1us to 10s"),
                             ("-1ms", "is not a time"), ("", "--pause"), ("nan", "nan unit"),
                             ("1x2ms", "is not a time"), ("ms", "is not a time")):
            with self.subTest(wrong):
                self.assert_fails(run("rtt", "--pause", wrong), 2, words)
        report = json.loads(run("rtt", "--device", "emulated", "--iterations", "20", "--capacity",
                                "0x100", "--json").stdout)
        self.assertEqual(report["environment"]["capacity"], 256)
        for pause, ms in (("0.001", 1), ("1234567ns", 1.234567), ("1.5 ms", 1.5)):
            report = json.loads(run("rtt", "--device", "emulated", "--iterations", "20", "--pause",
                                    pause, "--json").stdout)
            self.assertEqual(report["environment"]["pause_ms"], ms)

    def test_a_measurement_begins_and_ends_with_a_summary(self):
        lines = run("rtt", "--device", "emulated", "--iterations", "20").stdout.splitlines()
        self.assertRegex(lines[0], "^round trips between CPU and device on emulated device")
        self.assertRegex(lines[1], "^EMULATED")
        self.assertRegex(lines[-1], r"^call: p50 [0-9.]+ us, p99 [0-9.]+ us, .*\(EMULATED\)$")

    def test_an_interrupt_loses_nothing_that_was_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            result = run_and_interrupt("rtt", "--device", "emulated", "--iterations", "10000000",
                                       "--rounds", "1000", f"--json={path}")
            self.assertEqual(result.returncode, 130, result.stderr)
            self.assertIn("carillon: ends after this piece; Ctrl-C again ends at once", result.stderr)
            self.assertIn("carillon: interrupted: ", result.stderr)
            report = json.loads(path.read_text())
            self.assertTrue(report["interrupted"])
            self.assertEqual(report["results"][0]["name"], "raw-flag-near")
            self.assertIn("\nraw-flag-near ", result.stdout)
            result = run_and_interrupt("verify", "--device", "emulated", "--time", "1h",
                                       f"--json={path}", seconds=1)
            self.assertEqual(result.returncode, 130, result.stderr)
            self.assertIn("\nverdict: no violations in 1 test", result.stdout)
            report = json.loads(path.read_text())
            self.assertTrue(report["interrupted"])
            self.assertGreater(report["lines_to_device"], 0)

    def test_a_signal_that_was_ignored_from_the_start_ends_nothing(self):
        with subprocess.Popen([PROGRAM, "rtt", "--device", "emulated", "--iterations", "20000"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN)) as it:
            it.stdout.readline()
            it.send_signal(signal.SIGINT)
            it.communicate(timeout=60)
            self.assertEqual(it.returncode, 0)

    def test_every_document_has_a_version(self):
        for line in (("info",), ("ls", "/nonexistent"), ("top", "--once", "/nonexistent"),
                     ("doctor", "--device", "emulated"), ("verify", "--device", "emulated", "--data"),
                     ("tune", "--device", "emulated", "--dry-run", "--time", "1s"),
                     ("rtt", "--device", "emulated", "--iterations", "20")):
            with self.subTest(line):
                result = run(*line, "--json")
                document = json.loads(result.stdout)
                self.assertEqual(document["schema_version"], 1)
                self.assert_on_the_page_of_commands(keys_of(document))
                self.assertNotEqual(result.stderr, "")

    def test_a_file_is_opened_before_the_measurement(self):
        result = run("verify", "--device", "emulated", "--time", "1h", "--json=/nowhere/x")
        self.assert_fails(result, 1, "write /nowhere/x: ENOENT (2)")

    def test_a_file_is_whole_or_empty(self):
        for line in (("info",), ("rtt", "--device", "emulated", "--iterations", "20")):
            with self.subTest(line):
                result = run(*line, "--json=/dev/full")
                self.assertEqual(result.returncode, 1)
                self.assertIn("write /dev/full: ENOSPC (28)", result.stderr)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            few_bytes = functools.partial(resource.setrlimit, resource.RLIMIT_FSIZE, (10, 10))
            run("info", f"--json={path}", preexec_fn=few_bytes)
            self.assertFalse(path.exists())
            path.write_text("before")
            run("rtt", "--device", "cuda:4096", f"--json={path}")
            self.assertEqual(path.read_text(), "before", "nothing was measured")
            path.chmod(0o640)
            run("info", f"--json={path}", preexec_fn=few_bytes)
            self.assertEqual(path.read_text(), "before")
            link = pathlib.Path(folder) / "link.json"
            link.symlink_to("out.json")
            run("info", f"--json={link}")
            self.assertIn("devices", json.loads(path.read_text()))
            self.assertEqual(path.stat().st_mode & 0o777, 0o640)
            path.unlink()
            run("info", f"--json={link}", preexec_fn=few_bytes)
            self.assertTrue(link.is_symlink())
            run("info", f"--json={link}")  # which points to nothing
            self.assertIn("devices", json.loads(path.read_text()))
            self.assertEqual({each.name for each in pathlib.Path(folder).iterdir()},
                             {"out.json", "link.json"})

    def test_a_file_is_written_though_nobody_reads_the_text(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "out.json"
            reader, writer = os.pipe()
            os.close(reader)
            result = subprocess.run([PROGRAM, "rtt", "--device", "emulated", "--iterations", "20",
                                     f"--json={path}"], stdout=writer, stderr=subprocess.PIPE,
                                    text=True, timeout=60, check=False)
            os.close(writer)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertEqual(len(json.loads(path.read_text())["results"]), len(MEASURES))
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = subprocess.run([PROGRAM, "info", f"--json={path}"], stdout=full,
                                        stderr=subprocess.PIPE, text=True, timeout=60, check=False)
            self.assertEqual(result.returncode, 1)
            self.assertIn("standard output: ENOSPC (28)", result.stderr)
            self.assertIn("devices", json.loads(path.read_text()))

    def test_a_command_that_is_killed_leaves_no_file(self):
        with tempfile.TemporaryDirectory() as folder:
            with subprocess.Popen([PROGRAM, "verify", "--device", "emulated", "--time", "1h",
                                   f"--json={folder}/out.json"], stdout=subprocess.PIPE,
                                  text=True) as process:
                process.stdout.readline()
                process.kill()
            self.assertEqual(os.listdir(folder), [])

    # CLI11 takes 010 for 8.
    def test_a_number_that_begins_with_0_is_refused(self):
        for arguments in (["top", "--count", "010", "x"], ["top", "--count", "-00", "x"],
                          ["rtt", "--rounds", "010"], ["rtt", "--capacity", "0256"],
                          ["serve", "--blocks", "010", "x"]):
            with self.subTest(arguments):
                self.assert_fails(run(*arguments), 2, "begins with a 0")
        self.assertEqual(run("top", "--interval", "00.05", "--count", "2", "/nowhere").returncode, 1)

    # A variable that is not set gives such a path; without the option the command does something
    # else.
    def test_an_empty_path_is_bad_usage(self):
        for arguments in (["serve", "--device", "emulated", "--library", "", "s.sock"],
                          ["rtt", "--device", "emulated", "--json="]):
            with self.subTest(arguments):
                self.assert_fails(run(*arguments), 2, "the path is empty")

    def test_an_absent_device_fails(self):
        result = run("rtt", "--device", "cuda:4096")
        self.assertEqual(result.returncode, 1)
        self.assertTrue(result.stderr.startswith("carillon: "), result.stderr)


if __name__ == "__main__":
    unittest.main()
