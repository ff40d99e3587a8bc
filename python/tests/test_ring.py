# SPDX-License-Identifier: Apache-2.0
"""Rings, with a thread that stands in for a kernel's."""

from __future__ import annotations

import numpy as np
import pytest

import carillon

POINT = np.dtype([("x", "<i4"), ("y", "<i4")])


def test_to_the_device(device: carillon.Device) -> None:
    ring = carillon.Ring(device, POINT, "to_device", capacity=4)
    far = ring.emulated_end()
    ring.push((1, 2))
    assert ring.try_push((3, 4))
    assert far.try_pop()["y"] == 2 and far.try_pop()["x"] == 3 and far.try_pop() is None
    points = np.zeros(9, POINT)
    points["x"] = range(9)
    assert ring.try_push_many(points) == 4 == ring.capacity
    assert not ring.try_push((0, 0))
    with pytest.raises(carillon.TimeoutError, match="full"):
        ring.push((0, 0), 0.01)
    assert [far.try_pop()["x"] for _ in range(4)] == [0, 1, 2, 3]


def test_to_the_host(device: carillon.Device) -> None:
    ring = carillon.Ring(device, POINT, "to_host")
    far = ring.emulated_end()
    assert ring.try_pop() is None
    with pytest.raises(carillon.TimeoutError):
        ring.pop(0.06)
    for i in range(5):
        assert far.try_push((i, -i))
    assert ring.pop()["x"] == 0
    assert ring.try_pop()["y"] == -1
    assert ring.try_pop_many(10)["x"].tolist() == [2, 3, 4]


def test_as_many_as_there_are_takes_no_more_room_than_the_ring_has(
    device: carillon.Device,
) -> None:
    ring = carillon.Ring(device, 8, "to_host", capacity=2)
    far = ring.emulated_end()
    assert far.try_push(b"12345678") and far.try_push(b"abcdefgh")
    assert ring.try_pop_many((1 << 64) - 1) == b"12345678abcdefgh"
    points = carillon.Ring(device, POINT, "to_host", capacity=2)
    assert len(points.try_pop_many(1 << 40)) == 0


def test_refusals(device: carillon.Device) -> None:
    ring = carillon.Ring(device, 8)
    with pytest.raises(carillon.UsageError):
        ring.try_push(b"1")
    with pytest.raises(carillon.UsageError):
        ring.try_pop()  # the other direction
    with pytest.raises(carillon.UsageError, match="sideways"):
        carillon.Ring(device, 8, "sideways")
    with pytest.raises(carillon.UsageError):
        carillon.Ring(device, 8, capacity=3)
    ring.emulated_end()
    with pytest.raises(carillon.UsageError):
        ring.emulated_end()


def test_ends_keep_the_ring(device: carillon.Device) -> None:
    ring = carillon.Ring(device, 8)
    far = ring.emulated_end()
    ring.push(b"12345678")
    del ring
    assert far.try_pop() == b"12345678"
