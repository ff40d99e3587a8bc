# SPDX-License-Identifier: Apache-2.0
"""Devices, and the errors of opening them."""

from __future__ import annotations

import re

import pytest

import carillon


def test_version_is_the_librarys() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", carillon.__version__)


def test_info_of_the_emulated_device(device: carillon.Device) -> None:
    info = device.info
    assert device.emulated and info.emulated
    assert info.selector == "emulated"
    assert info.memory_source == "memfd"
    assert info.data_order in ("fence", "read-back")
    assert info.compute_capability is None
    assert repr(device) == 'carillon.Device("emulated")'


def test_every_device_is_listed() -> None:
    selectors = [info.selector for info in carillon.Device.list()]
    assert "emulated" in selectors


def test_unknown_selector() -> None:
    with pytest.raises(carillon.Error) as error:
        carillon.Device("toaster")
    assert "toaster" in str(error.value)
    assert str(error.value).startswith(error.value.call + ": ")


def test_unknown_kind_of_memory() -> None:
    with pytest.raises(carillon.UsageError, match='not "paper"'):
        carillon.Device("emulated", memory="paper")


@pytest.mark.parametrize("selector", [None, 3, b"emulated"])
def test_a_selector_is_text(selector: object) -> None:
    with pytest.raises(TypeError):
        carillon.Device(selector)  # type: ignore[arg-type]


def test_no_gpu_is_a_typed_error() -> None:
    if any(not info.emulated for info in carillon.Device.list()):
        pytest.skip("there is a GPU here")
    with pytest.raises(carillon.DeviceNotFoundError):
        carillon.Device("cuda:0")


def test_errors_are_pythons_too() -> None:
    assert issubclass(carillon.TimeoutError, TimeoutError)
    assert issubclass(carillon.OutOfMemoryError, MemoryError)
    assert issubclass(carillon.UsageError, ValueError)
    assert issubclass(carillon.SystemError, OSError)


def test_out_of_memory_says_how_much(device: carillon.Device) -> None:
    with pytest.raises(carillon.Error) as error:
        device.allocate(1 << 60)
    assert isinstance(error.value, (MemoryError, carillon.CodedError))
    assert str(1 << 60) in str(error.value) or "memory" in str(error.value)


@pytest.mark.parametrize("size", [0, -1, 1.5, "4096", None])
def test_sizes_that_are_none(device: carillon.Device, size: object) -> None:
    with pytest.raises((carillon.UsageError, TypeError)):
        device.allocate(size)  # type: ignore[arg-type]
