#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Handlers that break the device, and hosts that are killed or stopped while commands fly: what the
callers see, each in a process of its own.
Usage: faults_test.py VICTIM DEVICE [--repeats N] [--kills N] [--jobs N] [--json FILE]
Exit status 77: there is no such device."""
import argparse
import concurrent.futures
import json
import os
import signal
import subprocess
import sys
import time
import unittest

GPU_ERRORS = {"trap": {"CUDA_ERROR_LAUNCH_FAILED", "CUDA_ERROR_ILLEGAL_INSTRUCTION"},
              "address": {"CUDA_ERROR_ILLEGAL_ADDRESS"},
              "assertion": {"CUDA_ERROR_ASSERT"}}
KILLED_S = 2.0  # counted, not asserted: the machine may be busy


def read(line):
    what, kind, ms, text = line.rstrip("\n").split("\t")
    return what, {"kind": kind, "ms": int(ms), "text": text}


class Victim:
    program = device = None

    def __init__(self, what):
        self.process = subprocess.Popen([self.program, self.device, what], text=True,
                                        stdout=subprocess.PIPE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def next(self):
        return read(self.process.stdout.readline())

    def rest(self):
        output, _ = self.process.communicate(timeout=30)
        return dict(read(line) for line in output.splitlines())


def used_memory():
    """Of all GPUs together, in MiB; None where nobody tells."""
    try:
        output = subprocess.run(["nvidia-smi", "--query-gpu=memory.used",
                                 "--format=csv,noheader,nounits"],
                                capture_output=True, text=True, check=True, timeout=10).stdout
        return sum(int(line) for line in output.split())
    except (OSError, ValueError, subprocess.SubprocessError):
        return None


class Faults(unittest.TestCase):
    repeats = 1
    kills = 2
    jobs = 1

    @property
    def on_gpu(self):
        return Victim.device != "emulated"

    def seen_after(self, fault):
        with Victim(fault) as victim:
            seen = victim.rest()
            self.assertEqual(victim.process.returncode, 0, seen)
        self.assertEqual(seen["before"]["text"], "nothing")
        self.assertIn("done", seen)
        return seen

    def breaks(self, fault):
        """How long the caller and its neighbour waited for the error, in ms."""
        seen = self.seen_after(fault)
        for what in ("fault", "neighbour", "stop", "later"):
            if self.on_gpu:
                self.assertEqual(seen[what]["kind"], "DeviceFaultError", (what, seen))
                self.assertIn(seen[what]["text"], GPU_ERRORS[fault], (what, seen))
            else:
                self.assertEqual(seen[what]["kind"], "domain_error", (what, seen))
        self.assertEqual(seen["state"]["kind"], "failed")
        # CUDA has no way back within the process; the emulated device goes on.
        self.assertEqual(seen["new kernel"]["kind"],
                         "DeviceFaultError" if self.on_gpu else "none", seen)
        return max(seen["fault"]["ms"], seen["neighbour"]["ms"])

    def test_other_device_goes_on(self):
        with Victim("one of two") as victim:
            seen = victim.rest()
        if "skipped" in seen:
            self.skipTest(seen["skipped"]["text"])
        self.assertIn("done", seen)
        self.assertEqual(seen["fault"]["kind"],
                         "DeviceFaultError" if self.on_gpu else "domain_error", seen)
        self.assertEqual(seen["elsewhere before"]["text"], "nothing", seen)
        # CUDA may count a fault against the whole process. The other GPU's kernel still answers, or
        # its error names the fault.
        spared = {"none", "DeviceFaultError"} if self.on_gpu else {"none"}
        for what in ("elsewhere", "elsewhere stop", "elsewhere new kernel"):
            self.assertIn(seen[what]["kind"], spared, seen)
            if seen[what]["kind"] == "DeviceFaultError":
                self.assertIn(seen[what]["text"], GPU_ERRORS["trap"], seen)
        RESULTS["other_device_answers"] = seen["elsewhere"]["kind"] == "none"
        RESULTS["other_device_goes_on"] = seen["elsewhere new kernel"]["kind"] == "none"

    def loops(self):
        seen = self.seen_after("loop")
        self.assertEqual(seen["fault"]["kind"], "TimeoutError", seen)
        self.assertEqual(seen["neighbour"]["text"], "nothing", seen)
        self.assertEqual(seen["stop"]["kind"], "TimeoutError", seen)
        self.assertEqual(seen["later"]["kind"], "StoppedError", seen)
        self.assertEqual(seen["new kernel"]["text"], "nothing", seen)

    def repeat(self, once):
        """What `once` returned where it held; every failure is shown."""
        results = []
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            for number, future in enumerate([pool.submit(once) for _ in range(self.repeats)]):
                with self.subTest(number=number):
                    results.append(future.result())
        return results

    def repeat_fault(self, fault):
        waits = self.repeat(lambda: self.breaks(fault))
        RESULTS[fault] = len(waits)
        RESULTS[f"{fault}_slowest_ms"] = max(waits, default=None)

    def test_trap(self):
        self.repeat_fault("trap")

    def test_illegal_address(self):
        self.repeat_fault("address")

    def test_assertion(self):
        self.repeat_fault("assertion")

    def test_endless_handler(self):
        RESULTS["loop"] = len(self.repeat(self.loops))

    def test_host_is_killed_while_commands_fly(self):
        if not self.on_gpu:
            self.skipTest("the blocks of the emulated device end with their process")
        baseline = used_memory()
        killed = 0
        slowest = 0.0
        for first in range(0, self.kills, 8):
            count = min(8, self.kills - first)
            victims = [Victim("call") for _ in range(count)]
            try:
                for victim in victims:
                    self.assertEqual(victim.next()[0], "ready")
                time.sleep(0.02)
                start = time.monotonic()
                for victim in victims:
                    victim.process.send_signal(signal.SIGKILL)
                for victim in victims:
                    victim.process.wait(timeout=10)
                free = baseline is None
                while not free and time.monotonic() - start < 10:
                    free = used_memory() <= baseline + 16
                took = time.monotonic() - start
            finally:
                for victim in victims:
                    victim.__exit__()
            self.assertTrue(free, "memory of a killed process is still held")
            slowest = max(slowest, took)
            killed += count if took < KILLED_S else 0
        RESULTS["kill_host"] = killed
        RESULTS["kill_host_slowest_s"] = round(slowest, 3)
        RESULTS["kill_host_memory_watched"] = baseline is not None

    def test_host_is_stopped_for_longer_than_its_limit(self):
        if not self.on_gpu:
            self.skipTest("the blocks of the emulated device stop with their process")
        for _ in range(min(self.repeats, 5)):
            with Victim("call") as victim:
                self.assertEqual(victim.next()[0], "ready")
                victim.process.send_signal(signal.SIGSTOP)
                time.sleep(0.8)
                victim.process.send_signal(signal.SIGCONT)
                seen = victim.rest()
            self.assertEqual(seen["end"]["kind"], "StoppedError", seen)
            self.assertIn("had no heartbeat from this process for 300 ms", seen["end"]["text"])


RESULTS = {}


def commit():
    done = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("victim")
    parser.add_argument("device")
    parser.add_argument("--repeats", type=int, default=1, help="of each fault")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=min(4, os.cpu_count()),
                        help="faults at a time; a GPU takes longer to tell of several at once")
    parser.add_argument("--json")
    arguments = parser.parse_args()
    Victim.program, Victim.device = arguments.victim, arguments.device
    with Victim("none") as victim:
        if victim.rest().get("skipped"):
            print(f"{arguments.device}: no such device here")
            return 77
    Faults.repeats, Faults.kills, Faults.jobs = (arguments.repeats, arguments.kills,
                                                 arguments.jobs)
    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Faults)
    ok = unittest.TextTestRunner(verbosity=2).run(suite).wasSuccessful()
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"commit": os.environ.get("COMMIT") or commit(),
                       "device": arguments.device, "repeats": arguments.repeats,
                       "kills": arguments.kills, "jobs": arguments.jobs, **RESULTS}, file, indent=1)
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
