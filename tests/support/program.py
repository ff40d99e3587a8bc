# SPDX-License-Identifier: Apache-2.0
"""A program as its users run it, for tests whose first argument is its path."""
import functools
import os
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


def pieces_of_terminal(file):
    """What a program writes to a terminal, until it has closed it."""
    while True:
        try:
            piece = os.read(file, 4096)
        except OSError:  # EIO at its end
            return
        if not piece:
            return
        yield piece


def run_and_interrupt(*arguments, seconds=None):
    """The result of the program, which gets SIGINT so many seconds after its first words; without
    `seconds` when it first shows progress, on a terminal that is its standard error."""
    default = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
    terminal, standard_error = (None, subprocess.PIPE) if seconds is not None else os.openpty()
    with subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=standard_error,
                          text=True, preexec_fn=default,
                          env={**os.environ, "TERM": "xterm"}) as process:
        first = process.stdout.readline()
        if terminal is None:
            time.sleep(seconds)
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=60)
        else:
            os.close(standard_error)
            said = b""
            for piece in pieces_of_terminal(terminal):
                if b"%" not in said and b"%" in said + piece:
                    process.send_signal(signal.SIGINT)
                said += piece
            os.close(terminal)
            out, _ = process.communicate(timeout=60)
            error = said.decode()
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
