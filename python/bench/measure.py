# SPDX-License-Identifier: Apache-2.0
"""What Python adds to calls and copies, each beside the same in C++, in one run.

Usage: measure.py CARILLON_COMMAND [DEVICE]
"""

from __future__ import annotations

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import numpy as np

import carillon

CALLS = 20_000
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


def calls(client: carillon.Client) -> dict[str, float]:
    """Single calls, in turns so that both meet the same machine."""
    request = bytes(MESSAGE)
    python, cpp = [], []
    for _ in range(10):
        cpp.append(statistics.median(client._raw._time_calls(request, CALLS // 10)))
        python.append(median_ns(lambda: client.call(request), CALLS // 10))
    own, other = statistics.median(python), statistics.median(cpp)
    return {"call_ns": own, "call_cpp_ns": other, "python.call_over_cpp_ns": own - other}


def copies(device: carillon.Device) -> dict[str, float]:
    """1 MiB to the device, through NumPy's view of the mapping and by copy_to_device."""
    memory = device.allocate(MEBIBYTE)
    view, data = memory.array(), np.ones(MEBIBYTE, np.uint8)

    def by_view() -> None:
        view[:] = data
        memory.flush()

    own = median_ns(by_view, 200)
    other = median_ns(lambda: carillon.copy_to_device(memory, data), 200)
    return {"view_ns": own, "copy_to_device_ns": other, "python.view_over_copy": own / other}


def main(command: str, selector: str) -> None:
    device = carillon.Device(selector)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "echo.sock"
        serve = [command, "serve", str(path), "--kernel", "echo", "--device", selector]
        with subprocess.Popen(serve, stdout=subprocess.DEVNULL) as owner:
            with carillon.connect(path, wait_for_owner=60.0) as connection:
                client = connection.client(MESSAGE, MESSAGE)
            found = calls(client)
            owner.terminate()
    found |= copies(device)
    print(json.dumps({"device": device.info.name, "emulated": device.emulated, **found}, indent=1))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else "best")
