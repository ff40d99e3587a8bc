# SPDX-License-Identifier: Apache-2.0
"""Rings of chunks, whose device's end is this thread's."""

from __future__ import annotations

import gc
import threading
from typing import Any

import numpy as np
import pytest

import carillon

HEAP = np.dtype([("number", "<u8"), ("antenna", "<u2")])


def test_filled_in_place(device: carillon.Device) -> None:
    ring = carillon.ChunkRing(device, HEAP, chunk_bytes=4096, chunks=4)
    kernel = ring.emulated_end()
    assert (ring.chunks, ring.chunk_bytes, kernel.try_take()) == (4, 4096, None)
    for number in range(20):
        chunk = ring.claim()
        assert chunk.size == 4096 and chunk.sequence == number + 1
        chunk.array("<f4", (32, 32))[:] = number
        chunk.fill(b"the end", 4089)
        chunk.commit(meta=(number, 7))
        taken = kernel.try_take()
        assert taken is not None and taken.meta.tolist() == (number, 7)
        samples = np.frombuffer(taken.data[:4088], "<f4")
        assert (samples == number).all() and taken.data.endswith(b"the end")
        assert kernel.release(taken) and not kernel.release(taken)


def test_used_dropped_and_full(device: carillon.Device) -> None:
    ring = carillon.ChunkRing(device, chunk_bytes=100, chunks=2)
    kernel = ring.emulated_end()
    ring.claim().drop()
    ring.claim(0)  # collected: given up too
    gc.collect()
    assert kernel.try_take() is None and kernel.try_take() is None
    ring.claim().commit(3)
    second = ring.try_claim()
    assert second is not None and ring.try_claim() is None
    with pytest.raises(carillon.TimeoutError, match="no chunk was released"):
        ring.claim(0.06)
    taken = kernel.try_take()
    assert taken == carillon.TakenChunk(bytes(3), None, 3)
    kernel.release(taken)
    assert ring.try_claim() is not None


def test_views(device: carillon.Device) -> None:
    ring = carillon.ChunkRing(device, chunk_bytes=64, chunks=2)
    kernel = ring.emulated_end()
    chunk = ring.claim()
    view = chunk.array()
    with pytest.raises(carillon.UsageError, match="views of the chunk still exist"):
        chunk.commit()
    with pytest.raises(carillon.UsageError, match="views of the chunk still exist"):
        chunk.drop()
    del chunk, ring
    gc.collect()
    view[:] = 5  # it keeps the chunk, and the ring
    assert kernel.try_take() is None
    del view
    gc.collect()
    assert kernel.try_take() is None  # given up


def test_views_that_nobody_counts(device: carillon.Device) -> None:
    ring = carillon.ChunkRing(device, chunk_bytes=64, chunks=2)
    raw: Any = ring.claim()._raw
    with pytest.raises(BufferError, match="pass memoryview"):
        np.ndarray(64, "u1", raw)
    array = np.ndarray(64, "u1", memoryview(raw))
    with pytest.raises(carillon.UsageError, match="views of the chunk still exist"):
        raw.commit(64, b"")
    del array
    gc.collect()
    raw.commit(64, b"")


def test_refusals(device: carillon.Device) -> None:
    with pytest.raises(carillon.UsageError, match="1 to 40 bytes, not 41"):
        carillon.ChunkRing(device, 41)
    with pytest.raises(carillon.UsageError, match="48 bytes is not possible: it has 0 to 40"):
        carillon.ChunkRing(device, "V48")
    with pytest.raises(carillon.UsageError):
        carillon.ChunkRing(device, chunks=3)
    with pytest.raises(carillon.UsageError):
        carillon.ChunkRing(device, chunk_bytes=0)
    ring = carillon.ChunkRing(device, HEAP, chunk_bytes=64, chunks=2)
    ring.emulated_end()
    with pytest.raises(carillon.UsageError):
        ring.emulated_end()
    chunk = ring.claim()
    with pytest.raises(carillon.UsageError, match="exceed the chunk of 64 bytes"):
        chunk.commit(65, (1, 2))
    with pytest.raises(carillon.UsageError, match="dtype"):
        chunk.commit(1, np.float64(3))
    with pytest.raises(carillon.UsageError, match="have metadata"):
        chunk.commit(1)
    with pytest.raises(carillon.UsageError, match="exceed the chunk of 64 bytes"):
        chunk.fill(b"12", 63)
    with pytest.raises(ValueError):
        chunk.array("f8", (3, 3))
    with pytest.raises(carillon.UsageError, match="timeout is -1: "):
        ring.claim(-1)
    chunk.commit(1, (1, 2))
    for use in (chunk.commit, chunk.drop, chunk.flush, lambda: chunk.size):
        with pytest.raises(carillon.UsageError, match="was committed or"):
            use()
    with pytest.raises(BufferError, match="was committed or"):
        chunk.array()
    bare = carillon.ChunkRing(device, chunk_bytes=64, chunks=2)
    with pytest.raises(
        carillon.UsageError, match="a meta of 3 bytes was given, but the other side's has 0"
    ):
        bare.claim().commit(1, b"123")


def test_one_thread_at_a_time(device: carillon.Device) -> None:
    ring = carillon.ChunkRing(device, chunk_bytes=64, chunks=2)
    kept = [ring.claim(), ring.claim()]
    errors: list[Exception] = []

    def claim() -> None:
        try:
            ring.claim(30.0)
        except carillon.Error as error:
            errors.append(error)

    waits = threading.Thread(target=claim)
    waits.start()
    while not errors:  # until the other one waits
        try:
            assert ring.try_claim() is None
        except carillon.UsageError as error:
            errors.append(error)
    assert "another thread" in str(errors[0])
    kernel = ring.emulated_end()
    kept.pop().drop()
    kept.pop().drop()
    while waits.is_alive():
        kernel.try_take()
    waits.join()
