#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that pages show: each block of sh below `<!-- run -->` in README.md and in the
other pages of docs/site/navigation. A block is run in an empty folder, on the emulated device, with
the `carillon` command and the examples on PATH. It must end by itself, with status 0. A block with
`python3` needs a build with the Python package, and is skipped in others.
Usage: commands_test.py PATH_OF_THE_COMMAND FOLDER_OF_EXAMPLES..."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import pages  # noqa: E402
from figures import markdown  # noqa: E402

COMMAND = pathlib.Path(sys.argv.pop(1))
FOLDERS = [COMMAND.parent, *map(pathlib.Path, sys.argv[1:])]
del sys.argv[1:]
PYTHON = os.environ.get("CARILLON_PYTHON")
if PYTHON:
    FOLDERS.append(pathlib.Path(PYTHON).parent)
SECONDS = 60


def environment():
    return os.environ | {"PATH": ":".join([*map(str, FOLDERS), os.environ["PATH"]]),
                         "CUDA_VISIBLE_DEVICES": "", "CARILLON_DEVICE": "emulated"}


def run(block):
    """Runs a block; what it has left running ends with it."""
    with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
            ["sh", "-e"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, cwd=folder, env=environment(), start_new_session=True) as shell:
        try:
            said, _ = shell.communicate(block, timeout=SECONDS)
            return shell.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            return f"none within {SECONDS} s", shell.communicate()[0]
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def missing_examples(block):
    """Examples that this build does not have."""
    named = set(re.findall(r"\bexample_\w+", block))
    return {name for name in named if not shutil.which(name, path=environment()["PATH"])}


class CommandsTest(unittest.TestCase):
    def test_commands_of_the_pages_run(self):
        count = 0
        for page in pages.all_pages():
            for above, language, block in markdown.fenced(page.read_text()):
                if above != "<!-- run -->":
                    continue
                count += 1
                self.assertEqual(language, "sh", f"{page}: a block that runs")
                with self.subTest(f"{pages.from_root(page)}: {block.splitlines()[0]}"):
                    if re.search(r"\bpython3?\b", block) and not PYTHON:
                        self.skipTest("this build has no Python package")
                    self.assertEqual(missing_examples(block), set())
                    status, said = run(block + "\n")
                    self.assertEqual(status, 0, f"{block}\n\n{said}")
        self.assertGreater(count, 0, "no page has a block that runs")


if __name__ == "__main__":
    unittest.main()
