# SPDX-License-Identifier: Apache-2.0
"""The examples run and say what they are to say."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).parent.parent / "examples"

SAID = {
    "reprice": r"one call: 4810\.125\n1000 calls, the last: 4820\.115\nlater: 1\.5\n",
    "orders": r"100 fills, 12375\.0 in all\n",
    "handler_text": r"4810\.125 from text on the .*\n|not here: .*\n",
    "handler_python": r"4810\.125 from Python on the .*\n|not here: .*\n",
    "serve": r"the client has 4810\.25\n",
    "views": r"1048576 bytes on \S+, 2 views\nMemory\.free: the memory still has 2 views: delete them first\n",
}


@pytest.mark.parametrize("name", SAID)
def test_example(name: str) -> None:
    program = EXAMPLES / f"{name}.py"
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert re.search(SAID[name], done.stdout), done.stdout


def test_every_example_is_run() -> None:
    # quotes_feed needs a program in C++: the build's tests run it. heaps: test_objects.py.
    assert {path.stem for path in EXAMPLES.glob("*.py")} == {*SAID, "quotes_feed", "heaps"}
