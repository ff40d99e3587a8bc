# SPDX-License-Identifier: Apache-2.0
"""carillon.vkgdr: what a program written for vkgdr uses, on the emulated device."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import types
from typing import Any

import numpy as np
import pytest

from carillon import vkgdr


@pytest.fixture
def opened() -> vkgdr.Vkgdr:
    return vkgdr.Vkgdr("emulated")


def test_flags() -> None:
    flags = vkgdr.OpenFlags
    assert [int(flag) for flag in flags] == [1, 2, 4]
    assert flags.CURRENT_CONTEXT_BIT == 1 and flags.FORCE_NON_COHERENT_BIT == 2
    assert flags.REQUIRE_COHERENT_BIT == 4
    assert vkgdr.Vkgdr("emulated", flags.REQUIRE_COHERENT_BIT)


def test_open_failures() -> None:
    with pytest.raises(vkgdr.VkgdrError, match="CUDA_ERROR_INVALID_DEVICE|libvulkan|libcuda"):
        vkgdr.Vkgdr(-1)
    with pytest.raises(vkgdr.VkgdrError):
        vkgdr.Vkgdr(9999)
    with pytest.raises(
        vkgdr.VkgdrError, match="^Vkgdr: device is 1099511627776: expected a whole number"
    ):
        vkgdr.Vkgdr(1 << 40)
    with pytest.raises(vkgdr.VkgdrError, match="unknown flags"):
        vkgdr.Vkgdr("emulated", 64)
    assert issubclass(vkgdr.VkgdrError, RuntimeError)


@pytest.mark.parametrize("flags", ["x", None, 1.5])
def test_flags_that_are_no_whole_number(opened: vkgdr.Vkgdr, flags: Any) -> None:
    for call in (
        lambda: vkgdr.Vkgdr("emulated", flags),
        lambda: vkgdr.Vkgdr.open_current_context(flags),
        lambda: vkgdr.RawMemory(opened, 64, flags),
    ):
        with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
            call()


def test_no_current_context() -> None:
    program = "from carillon import vkgdr; vkgdr.Vkgdr.open_current_context()"
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert ended.returncode == 1 and "vkgdr.VkgdrError: " in ended.stderr


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        ("vkgdr.Vkgdr(5)", "cuDeviceGetUuid failed (CUDA_ERROR_INVALID_DEVICE)"),
        ("vkgdr.Vkgdr(-1)", "cuDeviceGetUuid failed (CUDA_ERROR_INVALID_DEVICE)"),
        (
            "vkgdr.Vkgdr.open_current_context()",
            "cuCtxGetDevice failed (CUDA_ERROR_INVALID_CONTEXT)",
        ),
        (
            "vkgdr.RawMemory(vkgdr.Vkgdr(0), 64)",
            "cuImportExternalMemory failed (CUDA_ERROR_INVALID_CONTEXT)",
        ),
    ],
)
def test_refusals_of_cuda_have_vkgdrs_texts(expression: str, text: str) -> None:
    folder = os.environ.get("CARILLON_FAKE_CUDA")
    if folder is None:
        pytest.skip("CARILLON_FAKE_CUDA names no folder with a library in the place of the driver")
    ended = subprocess.run(
        [sys.executable, "-c", f"from carillon import vkgdr; {expression}"],
        capture_output=True,
        text=True,
        env={**os.environ, "LD_LIBRARY_PATH": folder},
    )
    assert ended.stderr.splitlines()[-1] == f"carillon.vkgdr.VkgdrError: {text}"


def test_memory(opened: vkgdr.Vkgdr) -> None:
    memory = vkgdr.RawMemory(opened, 4097)
    assert len(memory) == 4097 and memory.is_coherent and memory.non_coherent_atom_size > 0
    assert memory.device_ptr > 0
    view = np.asarray(memory)
    assert view.dtype == np.dtype("|V1")
    array = view.view(np.uint8)
    array[:] = np.arange(4097) % 128
    memory.flush(0, 4097)
    memory.invalidate(0, 4097)
    assert array[130] == 2
    memory.free()
    memory.free()
    array[0] = 1  # no view dangles
    with pytest.raises(vkgdr.VkgdrError, match="freed"):
        _ = memory.device_ptr


def test_memory_failures(opened: vkgdr.Vkgdr) -> None:
    with pytest.raises(vkgdr.VkgdrError, match="VK_ERROR_OUT_OF_DEVICE_MEMORY") as raised:
        vkgdr.RawMemory(opened, 1 << 60)
    assert isinstance(raised.value.__cause__, MemoryError)
    with pytest.raises(vkgdr.VkgdrError, match="expected 0"):
        vkgdr.RawMemory(opened, 64, 1)
    with pytest.raises(vkgdr.VkgdrError):
        vkgdr.RawMemory(opened, 0)
    none: Any = None
    with pytest.raises(vkgdr.VkgdrError, match="^RawMemory: owner is None: expected a Vkgdr"):
        vkgdr.RawMemory(none, 64)
    with pytest.raises(vkgdr.VkgdrError, match="Memory.flush"):
        vkgdr.RawMemory(opened, 64).flush(0, 65)


def test_memcpy_stream(opened: vkgdr.Vkgdr) -> None:
    view = np.asarray(vkgdr.RawMemory(opened, 64)).view(np.uint8)
    vkgdr.memcpy_stream(view, bytes(range(64)))
    assert view[63] == 63
    with pytest.raises(ValueError, match="different sizes"):
        vkgdr.memcpy_stream(view, b"12")
    with pytest.raises(BufferError):
        vkgdr.memcpy_stream(b"12", b"34")
    none: Any = None
    with pytest.raises(TypeError, match="a bytes-like object is required, not 'NoneType'"):
        vkgdr.memcpy_stream(none, b"34")


def is_mapped(address: int) -> bool:
    with open("/proc/self/maps") as maps:
        ranges = [line.split()[0].split("-") for line in maps]
    return any(int(first, 16) <= address < int(end, 16) for first, end in ranges)


class FakeContext:
    """pycuda's, of which the test says whether there is one."""

    current: Any = None

    @classmethod
    def get_current(cls) -> Any:
        return cls.current


class FakePointerHolder:
    def __init__(self) -> None:
        self.initialised = True


def test_memory_for_pycuda(monkeypatch: pytest.MonkeyPatch, opened: vkgdr.Vkgdr) -> None:
    driver = types.SimpleNamespace(PointerHolderBase=FakePointerHolder, Context=FakeContext)
    monkeypatch.setitem(sys.modules, "pycuda", types.SimpleNamespace(driver=driver))
    monkeypatch.setitem(sys.modules, "pycuda.driver", driver)
    monkeypatch.delitem(sys.modules, "carillon.vkgdr.pycuda", raising=False)
    module = importlib.import_module("carillon.vkgdr.pycuda")
    with pytest.raises(vkgdr.VkgdrError, match="no current CUDA context"):
        module.Memory(opened, 64)
    monkeypatch.setattr(FakeContext, "current", object())
    memory = module.Memory(opened, 64)
    assert memory.get_pointer() == memory.device_ptr and memory.initialised
    memory.free()
    with pytest.raises(vkgdr.VkgdrError, match="freed"):
        memory.get_pointer()
    kept = module.Memory(opened, 1 << 20)  # as GPUArray(gpudata=...) does
    pointer = kept.get_pointer()
    kept.free()
    assert is_mapped(pointer)
    del kept
    assert not is_mapped(pointer)
    assert len(np.asarray(module.Memory(opened, 64))) == 64
    sys.modules.pop("carillon.vkgdr.pycuda")


def test_memory_for_cupy(monkeypatch: pytest.MonkeyPatch, opened: vkgdr.Vkgdr) -> None:
    cuda = types.SimpleNamespace(UnownedMemory=lambda *of: of, MemoryPointer=lambda *of: of)
    fake = types.SimpleNamespace(cuda=cuda, ndarray=lambda *of: of)
    monkeypatch.setitem(sys.modules, "cupy", fake)
    monkeypatch.delitem(sys.modules, "carillon.vkgdr.cupy", raising=False)
    module = importlib.import_module("carillon.vkgdr.cupy")
    memory = module.Memory(opened, 64)
    shape, dtype, pointer = memory.array("f4")
    assert shape == (16,) and dtype == "f4"
    assert pointer == ((memory.device_ptr, 64, memory), 0)
    with pytest.raises(ValueError, match="do not fit"):
        memory.array("f8", (9,))
    assert not hasattr(memory, "__cuda_array_interface__")  # of the emulated device
    memory.free()
    assert is_mapped(pointer[0][0])
    del memory, pointer
    unused = module.Memory(opened, 1 << 20)
    address = unused.device_ptr
    unused.free()
    assert not is_mapped(address)
    sys.modules.pop("carillon.vkgdr.cupy")
