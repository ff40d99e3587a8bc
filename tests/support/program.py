# SPDX-License-Identifier: Apache-2.0
"""A program as its users run it, for tests whose first argument is its path."""
import functools
import pathlib
import signal
import subprocess
import sys
import time
import unittest

PROGRAM = sys.argv.pop(1)
NAME = pathlib.Path(PROGRAM).name.removeprefix("example_")


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                          check=False, **options)


def run_and_interrupt(*arguments, seconds):
    """The result of the program, which gets SIGINT so many seconds after its first words."""
    default = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    with subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, preexec_fn=default) as process:
        first = process.stdout.readline()
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
        return subprocess.CompletedProcess(arguments, process.returncode, first + out, error)


class ProgramTest(unittest.TestCase):
    def assert_fails(self, result, status, words):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith(f"{NAME}: "), lines[0])
        self.assertIn(words, lines[0])
