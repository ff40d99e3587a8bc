# SPDX-License-Identifier: Apache-2.0
"""Mailboxes, whose device's end is this thread's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import carillon

LIMITS = np.dtype([("most", "<u4"), ("name", "S60")])


@dataclass
class Status:
    orders: int
    exposure: float


def test_to_the_device(device: carillon.Device) -> None:
    limits = carillon.Mailbox(device, LIMITS, (10, b"start"), capacity=2)
    kernel, other = limits.emulated_end(), limits.emulated_end()
    assert kernel.refresh()["name"] == b"start" and kernel.refresh() is None
    for most in range(20):
        limits.set((most, b"x" * most))
    assert kernel.refresh().tolist() == (19, b"x" * 19)
    del limits  # its ends keep it
    assert other.refresh()["most"] == 19 and other.refresh() is None


def test_to_the_host(device: carillon.Device) -> None:
    status = carillon.Mailbox(device, Status, Status(0, 0.0), "to_host")
    kernel = status.emulated_end()
    assert status.refresh() == Status(0, 0.0) and status.refresh() is None
    kernel.set(Status(1, 0.5))
    kernel.set(Status(2, 2.5))
    assert status.refresh() == Status(2, 2.5) and status.refresh() is None


def test_large_values(device: carillon.Device) -> None:
    mailbox = carillon.Mailbox(device, 4096, bytes(4096))
    kernel = mailbox.emulated_end()
    mailbox.set(bytes(range(256)) * 16)
    assert kernel.refresh() == bytes(range(256)) * 16


def test_refusals(device: carillon.Device) -> None:
    with pytest.raises(carillon.UsageError, match="1 to 4096 bytes, not 4097"):
        carillon.Mailbox(device, 4097, b"")
    with pytest.raises(carillon.UsageError, match="4104 bytes is not possible: it has 1 to 4096"):
        carillon.Mailbox(device, "S4104", b"")
    with pytest.raises(carillon.UsageError, match="initial has 3 bytes, not 8"):
        carillon.Mailbox(device, 8, b"123")
    with pytest.raises(carillon.UsageError, match="sideways"):
        carillon.Mailbox(device, 8, bytes(8), "sideways")
    with pytest.raises(carillon.UsageError):
        carillon.Mailbox(device, 8, bytes(8), capacity=3)
    limits = carillon.Mailbox(device, LIMITS, (1, b""))
    status = carillon.Mailbox(device, 8, bytes(8), "to_host")
    with pytest.raises(carillon.UsageError, match="dtype"):
        limits.set(np.zeros(1, "f8")[0])
    with pytest.raises(carillon.UsageError, match="this side sets"):
        limits.refresh()
    with pytest.raises(carillon.UsageError, match="this side reads"):
        status.set(bytes(8))
    status.emulated_end()
    with pytest.raises(carillon.UsageError):
        status.emulated_end()
