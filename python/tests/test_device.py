# SPDX-License-Identifier: Apache-2.0
"""Devices, and the errors of opening them."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from carillon._carillon import _text_of_sample, _throw_sample

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


MORE: dict[str, dict[str, object]] = {
    "ResidencyError": {"asked": 8, "fit": 7},
    "TimeoutError": {"sent": True},
    "RefusedError": {"reason": "full"},
    "HandlerError": {"code": 9},
    "CompileError": {"log": "handler(1): error"},
    "CodedError": {"code": 3, "code_name": "A_NAME"},
    "SystemError": {"code": 2, "errno": 2},
    "CudaError": {"code": 201, "code_name": "CUDA_ERROR_INVALID_CONTEXT"},
    "DeviceFaultError": {"code": 700, "code_name": "CUDA_ERROR_ILLEGAL_ADDRESS"},
    "VulkanError": {"code": -4, "code_name": "VK_ERROR_DEVICE_LOST"},
}


@pytest.mark.parametrize("name", carillon.errors.__all__)
def test_errors_are_those_of_cpp(name: str) -> None:
    with pytest.raises(carillon.Error) as error:
        _throw_sample(name)
    assert type(error.value) is getattr(carillon, name)
    assert str(error.value) == _text_of_sample(name) and error.value.call == "the call"
    assert str(error.value).startswith("the call")
    for member, value in MORE.get(name, {}).items():
        assert getattr(error.value, member) == value


FAULT = """
import carillon, numpy
kernel = carillon.PersistentKernel(
    carillon.Device("cuda:0"),
    "struct Handler { Reply operator()(Request i) { if (i == 7) __trap(); return i; } };",
    request="<i4", reply="<i4")
client = kernel.client()
assert client.call(numpy.int32(6), 10.0) == 6
for _ in range(2):  # and every call from then on
    try:
        client.call(numpy.int32(7), 10.0)
    except carillon.DeviceFaultError as error:
        print(type(error).__name__, error.call, error.code, error.code_name, kernel.state)
"""


def test_a_fault_of_a_kernel_cuda0(gpu: carillon.Device) -> None:
    try:
        carillon.compile_handler(90, "", request=1, reply=1)
    except carillon.UnsupportedError as error:
        pytest.skip(str(error))
    except carillon.CompileError:
        pass
    done = subprocess.run(
        [sys.executable, "-c", FAULT], capture_output=True, text=True, timeout=120
    )
    first, second = done.stdout.splitlines()
    assert first == second and first.startswith("DeviceFaultError ") and "CUDA_ERROR_" in first
    assert first.endswith(" failed")


def test_no_current_context_cuda0(gpu: carillon.Device) -> None:
    program = "import carillon; carillon.Device('current')"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        'UsageError: Device::open("current"): this thread has no current CUDA context'
        in done.stderr
    )


def test_no_current_context_without_cuda() -> None:
    if any(not info.emulated for info in carillon.Device.list()):
        pytest.skip("there is a GPU here")
    with pytest.raises((carillon.DeviceNotFoundError, carillon.UnsupportedError)):
        carillon.Device("current")


def test_out_of_memory_says_how_much(device: carillon.Device) -> None:
    with pytest.raises(carillon.Error) as error:
        device.allocate(1 << 60)
    assert isinstance(error.value, (MemoryError, carillon.CodedError))
    assert str(1 << 60) in str(error.value) or "memory" in str(error.value)


@pytest.mark.parametrize("size", [0, -1, 1.5, "4096", None])
def test_sizes_that_are_none(device: carillon.Device, size: object) -> None:
    with pytest.raises((carillon.UsageError, TypeError)):
        device.allocate(size)  # type: ignore[arg-type]
