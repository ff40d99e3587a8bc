# SPDX-License-Identifier: Apache-2.0
"""What Python adds to calls and copies, each beside the same in C++, in one run.

Usage: measure.py CARILLON_COMMAND [DEVICE] [--json FILE]. COMMIT: of the code, without git.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import carillon
from carillon._client import Client
from carillon._codec import codec

CALLS = 20_000
ROUNDS = 10
ROWS = (256, 10_000)  # commands that are sent at once
MESSAGE = 48  # bytes each way, as the command's echo has them
MEBIBYTE = 1 << 20


def median_ns(use: Callable[[], object], count: int) -> float:
    """The median time of one `use()`, in ns."""
    took = []
    for _ in range(count):
        begin = time.perf_counter_ns()
        use()
        took.append(time.perf_counter_ns() - begin)
    return statistics.median(took)


SIX = [f"m{i}" for i in range(6)]  # members of 8 bytes
RECORD = np.dtype([(name, "<f8") for name in SIX])
Six = dataclasses.make_dataclass("Six", [(name, float) for name in SIX])


def calls(raw: Any) -> dict[str, float]:
    """Single calls by bytes, and by each other kind of message; in turns so that all meet the same
    machine."""
    numbers = tuple(float(i) for i in range(6))
    kinds = {
        "call": (MESSAGE, bytes(MESSAGE)),
        "call_dtype": (RECORD, np.zeros(1, RECORD)[0]),
        "call_tuple": (RECORD, numbers),
        "call_dataclass": (Six, Six(*numbers)),
    }
    clients = {name: Client(raw, *[codec(of)] * 2) for name, (of, _) in kinds.items()}
    took: dict[str, list[float]] = {"call_cpp": [], **{name: [] for name in kinds}}
    for _ in range(ROUNDS):
        took["call_cpp"].append(statistics.median(raw._time_calls(bytes(MESSAGE), CALLS // ROUNDS)))
        for name, (_, request) in kinds.items():
            use = functools.partial(clients[name].call, request)
            took[name].append(median_ns(use, CALLS // ROUNDS))
    found = {f"{name}_ns": statistics.median(each) for name, each in took.items()}
    return found | {
        f"python.{name}_over_cpp_ns": found[f"{name}_ns"] - found["call_cpp_ns"] for name in kinds
    }


def copies(device: carillon.Device) -> dict[str, float]:
    """1 MiB to the device, through NumPy's view of the mapping and by copy_to_device."""
    memory = device.allocate(MEBIBYTE)
    view, data = memory.array(), np.ones(MEBIBYTE, np.uint8)

    def by_view() -> None:
        view[:] = data
        memory.flush()

    by_call = functools.partial(carillon.copy_to_device, memory, data)
    python, cpp = [], []
    for _ in range(ROUNDS):  # in turns, as the calls
        python.append(median_ns(by_view, 50))
        cpp.append(median_ns(by_call, 50))
    own, other = statistics.median(python), statistics.median(cpp)
    return {"view_ns": own, "copy_to_device_ns": other, "python.view_over_copy": own / other}


def rows(client: carillon.Client) -> dict[str, float]:
    """An array of commands sent at once and its replies, in turns, in ns for each command."""
    found = {}
    for size in ROWS:
        requests, replies = np.zeros(size, f"V{MESSAGE}"), bytearray(size * MESSAGE)
        python, cpp = [], []
        for _ in range(ROUNDS):
            cpp.append(statistics.median(client._raw._time_rows(requests, replies, 20)))
            python.append(median_ns(functools.partial(client.call_many, requests, 10.0), 20))
        own, other = statistics.median(python) / size, statistics.median(cpp) / size
        found |= {f"row_{size}_ns": own, f"row_{size}_cpp_ns": other}
        found[f"python.row_{size}_over_cpp"] = own / other
    return found


def environment(command: str, selector: str) -> dict[str, Any]:
    """Where and when this was measured, and of which commit."""
    told = subprocess.check_output([command, "info", "--device", selector, "--json"], text=True)
    info = json.loads(told)["devices"][0]
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        cpu = next((line.split(": ", 1)[1].strip() for line in file if "model name" in line), "")
    commit = os.environ.get("COMMIT") or subprocess.check_output(
        ["git", "rev-parse", "HEAD"], cwd=pathlib.Path(__file__).parent, text=True
    )
    kept = ("device", "emulated", "uuid", "kernel_driver", "cuda_driver", "store_instruction")
    return {
        "commit": commit.strip(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "cpu": cpu,
        "python": ".".join(map(str, sys.version_info[:3])),
        "numpy": np.__version__,
        **{key: info[key] for key in kept if key in info},
    }


def measure(command: str, selector: str) -> dict[str, float]:
    device = carillon.Device(selector)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "echo.sock"
        serve = [command, "serve", str(path), "--kernel", "echo", "--device", selector]
        with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as owner:
            try:
                with carillon.connect(path, wait_for_owner=60.0) as connection:
                    client = connection.client(MESSAGE, MESSAGE)
                found = calls(client._raw)
                client = Client(client._raw, *[codec(f"V{MESSAGE}")] * 2)
                found |= rows(client)
            finally:
                owner.terminate()
    return found | copies(device)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command")
    parser.add_argument("device", nargs="?", default="best")
    parser.add_argument("--json", type=pathlib.Path, help="a file that gets the figures")
    given = parser.parse_args()
    found = measure(given.command, given.device)
    result = {"environment": environment(given.command, given.device), "python": found}
    text = json.dumps(result, indent=1)
    print(text)
    if given.json:
        given.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
