# SPDX-License-Identifier: Apache-2.0
"""Neither memory nor reference counts grow over many calls: `--calls 10000000` for the long run."""

from __future__ import annotations

import gc
import resource
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import carillon

PAIR = np.dtype([("a", "<i8"), ("b", "<i8")])


def resident() -> int:
    """Bytes of this process in memory, now."""
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def swapped(pair: Any) -> tuple[Any, Any]:
    return pair["b"], pair["a"]


def repeat(count: int, call: Callable[[], object]) -> None:
    for _ in range(count):
        call()


def fill(chunk: carillon.Chunk, pair: Any) -> None:
    chunk.array(PAIR, 1)[0] = pair
    chunk.commit(PAIR.itemsize, pair)


def release(kernel: carillon.ChunkRingDeviceEnd) -> None:
    taken = kernel.try_take()
    assert taken is not None and kernel.release(taken)


@pytest.mark.parametrize("kind", ["call", "call_many", "tickets", "views", "mailbox", "chunks"])
def test_nothing_grows(device: carillon.Device, calls: int, kind: str) -> None:
    kernel = carillon.PersistentKernel(device, swapped, request=PAIR, reply=PAIR)
    client = kernel.client()
    memory = device.allocate(4096)
    pair = np.array((1, 2), PAIR)
    pairs = np.zeros(64, PAIR)
    limits, chunks = carillon.Mailbox(device, PAIR, pair), carillon.ChunkRing(device, PAIR)
    kernels_limits, kernels_chunks = limits.emulated_end(), chunks.emulated_end()
    uses: dict[str, tuple[int, Callable[[], object]]] = {
        "call": (calls, lambda: client.call(pair)),
        "call_many": (calls * 10 // 64, lambda: client.call_many(pairs, 30.0)),
        "tickets": (calls, lambda: client.wait(client.submit(pair))),
        "mailbox": (calls, lambda: (limits.set(pair), kernels_limits.refresh())),
        "chunks": (calls, lambda: (fill(chunks.claim(), pair), release(kernels_chunks))),
        "views": (calls, lambda: (np.asarray(memory), np.from_dlpack(memory))),
    }
    count, use = uses[kind]
    repeat(count // 10, use)  # what is allocated once
    gc.collect()
    known = (PAIR, pair, pairs, client, memory, kernel, limits, chunks)
    before, references = resident(), [sys.getrefcount(each) for each in known]
    repeat(count, use)
    gc.collect()
    after = [sys.getrefcount(each) for each in known]
    assert after == references
    assert memory.views == 0
    assert resident() - before < 2 << 20
    kernel.stop()
