# SPDX-License-Identifier: Apache-2.0
"""Objects of another process.

P is carillon_objects_owner (tests/c/objects_owner.cpp), C is the test:
1 P shares a mailbox each way, a ring of chunks and a log; C connects to it
2 C sets limits and fills chunks; P's thread tells what it makes of them, and logs it
3 P ends; C's next calls are OwnerGoneErrors
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import time
from collections.abc import Iterator

import numpy as np
import pytest

import carillon

OWNER = os.environ.get("CARILLON_OBJECTS_OWNER", "")
LIMITS = np.dtype([("most", "<u4"), ("least", "<u4")])
STATUS = np.dtype([("chunks", "<u8"), ("sum", "<u8"), ("limits", LIMITS)])

pytestmark = pytest.mark.skipif(not OWNER, reason="CARILLON_OBJECTS_OWNER names no program")


@pytest.fixture
def owner(tmp_path: pathlib.Path) -> Iterator[tuple[carillon.Connection, subprocess.Popen[bytes]]]:
    path = tmp_path / "objects.sock"
    with subprocess.Popen([OWNER, path], stdin=subprocess.PIPE) as process:
        carillon.connect(path, wait_for_owner=60.0, timeout=60.0).close()
        # One that waits for its owner waits for what the owner may be about to serve, too.
        with carillon.connect(path, timeout=60.0) as connection:
            while len(connection.status()) < 4:  # it shares one after the other
                time.sleep(0.001)
            yield connection, process
        process.kill()


def test_all(owner: tuple[carillon.Connection, subprocess.Popen[bytes]]) -> None:
    connection, process = owner
    limits = connection.mailbox("limits", LIMITS)
    status = connection.mailbox("status", STATUS, "to_host")
    heaps = connection.chunk_ring("heaps", "<u8")
    log = connection.log("log")
    assert log.next() is None
    for number in range(1, 10):
        limits.set((number, 0))
        chunk = heaps.claim(30.0)
        chunk.array()[:100] = number
        chunk.commit(100, np.uint64(number))
        record = log.next(30.0)
        assert record is not None and record.text == f"heap {number} of 100 bytes"
        assert (record.level, record.block, log.missed) == ("info", 0, 0)
        now = None
        while now is None or now["chunks"] != number or now["limits"]["most"] != number:
            now = status.refresh()
        assert now["sum"] == 100 * number
    for end in (limits, heaps):
        with pytest.raises(
            carillon.UsageError, match="only the owner's process has the device's end"
        ):
            end.emulated_end()
    process.kill()
    process.wait()
    with pytest.raises(carillon.OwnerGoneError):
        for _ in range(60_000):  # a thread of this process hears of it
            limits.set((0, 0))
            time.sleep(0.001)
    with pytest.raises(carillon.OwnerGoneError):
        heaps.claim(30.0)
    with pytest.raises(carillon.OwnerGoneError):
        log.next(30.0)


def test_example(tmp_path: pathlib.Path) -> None:
    example = pathlib.Path(__file__).parent.parent / "examples" / "heaps.py"
    path = tmp_path / "objects.sock"
    with subprocess.Popen([OWNER, path], stdin=subprocess.PIPE):
        said = subprocess.check_output([sys.executable, example, path], text=True, timeout=60)
    assert said == (
        "heap 0 of 4096 bytes\nheap 1 of 4096 bytes\nheap 2 of 4096 bytes\n"
        "chunks 3 sum 4096 limits (100, 0)\n"
    )


def test_refusals(owner: tuple[carillon.Connection, subprocess.Popen[bytes]]) -> None:
    connection, _ = owner
    for ask in (
        lambda: connection.mailbox("limits", 16),
        lambda: connection.mailbox("limits", LIMITS, name="desk::Other"),
        lambda: connection.mailbox("limits", LIMITS, "to_host"),
        lambda: connection.chunk_ring("heaps"),
        lambda: connection.chunk_ring("limits", 8),
        lambda: connection.log("limits"),
        lambda: connection.log("nothing"),
    ):
        with pytest.raises(carillon.RefusedError):
            ask()
    with pytest.raises(carillon.UsageError, match="sideways"):
        connection.mailbox("limits", LIMITS, "sideways")
    kept = connection.mailbox("limits", LIMITS)
    with pytest.raises(carillon.RefusedError, match="has a client"):
        connection.mailbox("limits", LIMITS)
    connection.close()
    kept.set((1, 1))  # stays
    with pytest.raises(carillon.UsageError, match="closed"):
        connection.log("log")
