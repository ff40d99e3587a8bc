# SPDX-License-Identifier: Apache-2.0
"""A program as its users run it, for tests whose first argument is its path."""
import pathlib
import subprocess
import sys
import unittest

PROGRAM = sys.argv.pop(1)
NAME = pathlib.Path(PROGRAM).name.removeprefix("example_")


def run(*arguments, **options):
    return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=60,
                          check=False, **options)


class ProgramTest(unittest.TestCase):
    def assert_fails(self, result, status, words):
        self.assertEqual(result.returncode, status, result.stderr)
        self.assertEqual(result.stdout, "")
        lines = result.stderr.strip().splitlines()
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertTrue(lines[0].startswith(f"{NAME}: "), lines[0])
        self.assertIn(words, lines[0])
