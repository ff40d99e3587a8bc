#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that pages show: the blocks of sh in README.md and in the other pages of
docs/site/navigation. The line above a block says how it is run:

<!-- run -->  In an empty folder, on the emulated device, with the `carillon` command, the laboratory and the
    examples on PATH. It must end by itself, with status 0. A block with `python3` needs a build with the Python
    package, and is skipped in others.
<!-- run beside FILE -->  The same, with a copy of FILE in the folder, and with the build installed for pkg-config.
<!-- run on a fresh machine -->, <!-- run with a GPU -->  By hand, since it takes minutes: in a checkout, or in an
    empty folder with `carillon` on PATH. `record` writes the results to bench/results/commands-PLACE.json. It runs
    the blocks that this file lacks. The test compares that file with the pages. The line may end with
    `, A in place of B`, if the machine needs that.

Usage: commands_test.py PATH_OF_THE_COMMAND FOLDER_OF_INSTALLED_TREE FOLDER_OF_OTHER_PROGRAMS...
       commands_test.py record fresh-machine|gpu [RESULTS_FOLDER]"""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs/site"))
import pages  # noqa: E402
from figures import markdown  # noqa: E402

PLACES = {"fresh-machine": "run on a fresh machine", "gpu": "run with a GPU"}
RECORDING = sys.argv[1] == "record"
ARGUMENTS = sys.argv[2:] if RECORDING else list(map(pathlib.Path, sys.argv[1:]))
del sys.argv[1:]
FOLDERS = [] if RECORDING else [ARGUMENTS[0].parent, *ARGUMENTS[2:]]
PYTHON = os.environ.get("CARILLON_PYTHON")
if PYTHON:
    FOLDERS.append(pathlib.Path(PYTHON).parent)
SECONDS, HOUR = 60, 3600


def environment():
    packages = {str(path.parent) for path in ARGUMENTS[1].rglob("*.pc")}
    return os.environ | {"PATH": ":".join([*map(str, FOLDERS), os.environ["PATH"]]),
                         "PKG_CONFIG_PATH": ":".join(sorted(packages)),
                         "CUDA_VISIBLE_DEVICES": "", "CARILLON_DEVICE": "emulated"}


def run(block, beside=None):
    """Runs a block in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        if beside:
            shutil.copy(ROOT / beside, folder)
        return run_in(folder, block, environment(), SECONDS)


def run_in(folder, block, variables, seconds):
    """Runs a block: its exit status and its output. Processes that it has left end with it."""
    with subprocess.Popen(
            ["sh", "-e"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, cwd=folder, env=variables, start_new_session=True) as shell:
        try:
            said, _ = shell.communicate(block, timeout=seconds)
            return shell.returncode, said
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)
            return f"none within {seconds} s", shell.communicate()[0]
        finally:
            try:
                os.killpg(shell.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass


def missing_programs(block):
    """Examples, and the laboratory, that this build does not have."""
    named = set(re.findall(r"\bexample_\w+|\bcarillon-bench\b", block))
    return {name for name in named if not shutil.which(name, path=environment()["PATH"])}


def blocks():
    """The blocks of sh: page, how it is run, and the commands."""
    for page in pages.all_pages():
        for above, language, block in markdown.fenced(page.read_text()):
            if language == "sh":
                yield str(pages.from_root(page)), above.removeprefix("<!-- ").removesuffix(" -->"), block


def blocks_for(place):
    """The blocks that are run by hand in this place, as the file of results has them."""
    return [{"page": page, "commands": block, "how": how}
            for page, how, block in blocks() if how.startswith(PLACES[place])]


def recorded(place, folder=ROOT / "bench/results"):
    """The blocks that ran in a place with status 0."""
    file = pathlib.Path(folder) / f"commands-{place}.json"
    return [each for each in json.loads(file.read_text())["results"] if each["status"] == 0] \
        if file.is_file() else []


def as_shown(result):
    return {key: result[key] for key in ("page", "commands", "how")}


def record(place, folder=ROOT / "bench/results"):
    """Runs those blocks of a place that the file of results lacks, one after the other, and writes the file."""
    commit = os.environ.get("COMMIT") or subprocess.check_output(
        ["git", "rev-parse", "HEAD"], cwd=ROOT, text=True).strip()
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())[1]
    done = {json.dumps(as_shown(each)): each for each in recorded(place, folder)}
    results = []
    for each in blocks_for(place):
        if json.dumps(each) in done:
            results.append(done[json.dumps(each)])
            continue
        block = each["commands"]
        for new, old in re.findall(r", (\S+) in place of (\S+)", each["how"]):
            block = block.replace(old, new)
        print(f"== {each['page']}\n{block}", flush=True)
        start = time.monotonic()
        with tempfile.TemporaryDirectory() as empty:
            status, said = run_in(empty if place == "gpu" else ROOT, block + "\n", os.environ, HOUR)
        results.append(each | {"status": status, "seconds": round(time.monotonic() - start), "commit": commit,
                               "date": f"{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%dT%H:%M:%SZ}"})
        print(f"{said[-2000:]}\nexit status {status}, {results[-1]['seconds']} s", flush=True)
    made = {"environment": {"commit": results[-1]["commit"], "date": results[-1]["date"], "cpu": cpu,
                            "processors": os.cpu_count(), "how": f"tests/docs/commands_test.py record {place}"},
            "results": results}
    (pathlib.Path(folder) / f"commands-{place}.json").write_text(json.dumps(made, indent=2) + "\n")
    sys.exit(any(each["status"] != 0 for each in results))


class CommandsTest(unittest.TestCase):
    def test_commands_of_the_pages_run(self):
        count = 0
        for page, how, block in blocks():
            match = re.fullmatch(r"run(?: beside (\S+))?", how)
            if not match:
                continue
            count += 1
            with self.subTest(f"{page}: {block.splitlines()[0]}"):
                if re.search(r"\bpython3?\b", block) and not PYTHON:
                    self.skipTest("this build has no Python package")
                self.assertEqual(missing_programs(block), set())
                status, said = run(block + "\n", match[1])
                self.assertEqual(status, 0, f"{block}\n\n{said}")
        self.assertGreater(count, 0, "no page has a block that runs")

    def test_commands_that_take_minutes_were_run_as_the_pages_show_them(self):
        for place in PLACES:
            ran = [as_shown(each) for each in recorded(place)]
            for each in blocks_for(place):
                with self.subTest(each["page"], place=place):
                    self.assertIn(each, ran, f"run tests/docs/commands_test.py record {place}")


if __name__ == "__main__":
    if RECORDING:
        record(*ARGUMENTS)
    unittest.main()
