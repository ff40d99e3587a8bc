# SPDX-License-Identifier: Apache-2.0
"""A program as its users run it, for tests whose first argument is its path."""
import functools
import pathlib
import re
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


def keys_of(value):
    """All keys of a JSON document. Those of `sms` are names of rows."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value))
    if not isinstance(value, dict):
        return set()
    return set(value).union(*(keys_of(each) for key, each in value.items() if key != "sms"))


class ProgramTest(unittest.TestCase):
    def assert_on_the_page_of_commands(self, names):
        page = (pathlib.Path(__file__).parents[2] / "docs/command.md").read_text()
        words = {word for code in re.findall(r"`([^`\n]+)`", page) for word in code.split()}
        self.assertEqual(set(names) - words, set())

    def assert_fails(self, result, status, words):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith(f"{NAME}: "), lines[0])
        self.assertIn(words, lines[0])
