# SPDX-License-Identifier: Apache-2.0
"""Memory and its views: nothing is copied, views keep it, freed memory is a typed error."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from carillon._carillon import _device_interface

import carillon
from carillon import _carillon

DLPACK_READS_ONLY = np.lib.NumpyVersion(np.__version__) < "2.0.0"


def test_views_are_of_the_same_bytes(memory: carillon.Memory) -> None:
    by_buffer = np.asarray(memory)
    by_array = memory.array("<u4")
    by_dlpack = np.from_dlpack(memory)
    by_array[0] = 0x04030201
    assert by_buffer[:4].tolist() == [1, 2, 3, 4]
    assert by_dlpack[:4].tolist() == [1, 2, 3, 4]
    assert bytes(memoryview(memory)[:4]) == b"\1\2\3\4"
    assert by_buffer.ctypes.data == by_array.ctypes.data == by_dlpack.ctypes.data == memory.host_ptr
    assert by_buffer.dtype == np.uint8 and by_buffer.shape == (4096,)


class Interface:
    """What a library sees that only knows __array_interface__."""

    def __init__(self, memory: carillon.Memory) -> None:
        self.memory = memory
        self.__array_interface__ = memory.__array_interface__


def test_array_interface(memory: carillon.Memory) -> None:
    view = np.asarray(Interface(memory))
    view[7] = 9
    assert memory.array()[7] == 9
    assert memory.__array_interface__ == {
        "shape": (4096,),
        "typestr": "|u1",
        "data": (memory.host_ptr, False),
        "strides": None,
        "version": 3,
    }


def test_typed_arrays(memory: carillon.Memory) -> None:
    array = memory.array(np.float32, (4, 8), offset=64)
    assert array.shape == (4, 8) and array.ctypes.data == memory.host_ptr + 64
    array[:] = 1.5
    assert memory.array("f4", offset=64)[31] == 1.5
    with pytest.raises((TypeError, ValueError)):
        memory.array("f4", (2000,))
    with pytest.raises(ValueError):
        memory.array("f4", offset=4097)


def test_cuda_array_interface(memory: carillon.Memory) -> None:
    assert _device_interface(memory) == {
        "shape": (4096,),
        "typestr": "|u1",
        "data": (memory.device_ptr, False),
        "strides": None,
        "stream": None,
        "version": 3,
    }
    # CUDA does not know the emulated device's addresses: nobody is to take them for its own.
    assert not hasattr(memory, "__cuda_array_interface__")
    assert not hasattr(carillon.DeviceArray(memory), "__cuda_array_interface__")


def test_device_array(memory: carillon.Memory) -> None:
    array = carillon.DeviceArray(memory, "<f4", (3, 4), offset=16)
    assert array._interface() == {
        "shape": (3, 4),
        "typestr": "<f4",
        "descr": [("", "<f4")],
        "data": (memory.device_ptr + 16, False),
        "strides": None,
        "stream": None,
        "version": 3,
    }
    host = np.from_dlpack(array)
    assert host.dtype == np.float32 and host.shape == (3, 4)
    memory.array("<f4", offset=16)[11] = 1.5
    assert host[2, 3] == 1.5
    if not DLPACK_READS_ONLY:
        host[2, 3] = 2.5
        assert memory.array("<f4", offset=16)[11] == 2.5
    assert carillon.DeviceArray(memory, "c8").shape == (512,)


@pytest.mark.parametrize(("shape", "offset"), [(0, 0), (None, 4096), ((0, 5), 8), ((5, 0), 0)])
def test_an_array_without_elements_has_no_address(
    memory: carillon.Memory, shape: Any, offset: int
) -> None:
    array = carillon.DeviceArray(memory, "f4", shape, offset)
    assert array._interface()["data"] == (0, False)
    pointer_of = ctypes.pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = array.__dlpack__()
    tensor = pointer_of(capsule, b"dltensor")
    assert ctypes.c_void_p.from_address(tensor).value is None
    assert np.from_dlpack(array).shape == array.shape


@pytest.mark.parametrize("shape", [np.int64(3), [np.uint8(3)], 3, (3,)])
def test_shapes_of_device_arrays(memory: carillon.Memory, shape: Any) -> None:
    assert carillon.DeviceArray(memory, "f4", shape).shape == (3,)


@pytest.mark.parametrize(
    ("dtype", "shape", "offset"),
    [
        ("u1", (4097,), 0),
        ("u1", (1,), 4096),
        ("f4", (-1,), 0),
        ("f4", (1,), 2),
        ("O", None, 0),
        ("f4", (1,), -4),
    ],
)
def test_device_arrays_that_do_not_fit(
    memory: carillon.Memory, dtype: str, shape: Any, offset: int
) -> None:
    with pytest.raises(carillon.UsageError, match="DeviceArray: "):
        carillon.DeviceArray(memory, dtype, shape, offset)


def test_dlpack_of_a_type_that_it_has_not(memory: carillon.Memory) -> None:
    with pytest.raises(BufferError, match="no type for"):
        np.from_dlpack(carillon.DeviceArray(memory, [("a", "u4")]))


def test_dlpack_device_and_refusals(memory: carillon.Memory) -> None:
    assert memory.__dlpack_device__() == (1, 0)
    assert "dltensor" in repr(memory.__dlpack__())
    assert "dltensor_versioned" in repr(memory.__dlpack__(max_version=(1, 0), dl_device=(1, 0)))
    with pytest.raises(BufferError, match=r"dl_device is \(2, 0\), but the memory is on \(1, 0\)"):
        memory.__dlpack__(dl_device=(2, 0))
    none: list[Any] = ["cpu", 1, (1,), [None, 0]]
    for place in none:
        with pytest.raises(BufferError, match="dl_device must be two numbers or None"):
            memory.__dlpack__(dl_device=place)
    with pytest.raises(BufferError):
        memory.__dlpack__(copy=True)
    gc.collect()
    assert memory.views == 0  # capsules that nobody took let go of it


@pytest.mark.parametrize(
    "view",
    [
        np.asarray,
        np.from_dlpack,
        memoryview,
        carillon.DeviceArray,
        lambda memory: memory.array("f8"),
        lambda memory: memory.array("f8", (2, 3)),
    ],
)
def test_free_is_refused_while_a_view_lives(
    memory: carillon.Memory, view: Callable[[Any], Any]
) -> None:
    kept = view(memory)
    assert memory.views > 0
    with pytest.raises(carillon.UsageError, match="Memory.free: the memory still has 1 view"):
        memory.free()
    assert not memory.freed
    del kept
    gc.collect()
    memory.free()
    memory.free()  # nothing happens
    assert memory.freed and memory.views == 0


@pytest.mark.parametrize("view", [np.asarray, np.from_dlpack, lambda memory: memory.array()])
def test_views_keep_the_memory(device: carillon.Device, view: Callable[[Any], Any]) -> None:
    if view is np.from_dlpack and DLPACK_READS_ONLY:
        pytest.skip("NumPy 1's from_dlpack() gives what cannot be written")
    memory = device.allocate(4096)
    kept = view(memory)
    del memory
    gc.collect()
    kept[:] = 7
    assert int(kept.sum()) == 7 * 4096


@pytest.mark.parametrize(
    "view",
    [lambda memory: np.asarray(Interface(memory)), lambda memory: np.ndarray(4096, "u1", memory)],
)
def test_what_took_the_address_may_keep_it(
    device: carillon.Device, view: Callable[[Any], Any]
) -> None:
    memory = device.allocate(4096)
    kept = view(memory)
    memory.free()  # nobody can count such views: the memory stays as long as the object
    kept[:] = 3
    del memory
    gc.collect()
    assert int(kept.sum()) == 3 * 4096


USES: dict[str, Callable[[carillon.Memory], object]] = {
    "size": lambda memory: memory.size,
    "len": len,
    "host_ptr": lambda memory: memory.host_ptr,
    "device_ptr": lambda memory: memory.device_ptr,
    "coherent": lambda memory: memory.coherent,
    "flush": lambda memory: memory.flush(),
    "invalidate": lambda memory: memory.invalidate(),
    "array": lambda memory: memory.array(),
    "array_interface": lambda memory: memory.__array_interface__,
    "dlpack": lambda memory: memory.__dlpack__(),
    "dlpack_device": lambda memory: memory.__dlpack_device__(),
    "copy_to_device": lambda memory: carillon.copy_to_device(memory, b"1"),
    "copy_from_device": lambda memory: carillon.copy_from_device(bytearray(1), memory),
}


@pytest.mark.parametrize("use", USES)
def test_freed_memory_is_a_typed_error(memory: carillon.Memory, use: str) -> None:
    memory.free()
    with pytest.raises(carillon.UsageError, match="the memory was freed"):
        USES[use](memory)
    assert "freed" in repr(memory)


@pytest.mark.parametrize("use", [memoryview, carillon.DeviceArray])
def test_no_buffer_of_freed_memory(memory: carillon.Memory, use: Callable[[Any], Any]) -> None:
    memory.free()
    with pytest.raises((BufferError, carillon.UsageError), match="the memory was freed"):
        use(memory)


@pytest.mark.parametrize(
    "made",
    [
        _carillon.Memory,
        _carillon._MemoryView,
        _carillon.MutableBuffer,
        _carillon.Buffer,
        _carillon.RawChunk,
    ],
)
def test_no_buffer_of_what_was_not_made(made: Any) -> None:
    with pytest.raises((BufferError, TypeError)):
        memoryview(made.__new__(made))


def test_copies(memory: carillon.Memory) -> None:
    sent = np.random.default_rng(1).integers(0, 256, 1001, np.uint8)
    carillon.copy_to_device(memory, sent, offset=3)
    taken = np.zeros_like(sent)
    carillon.copy_from_device(taken, memory, offset=3)
    assert np.array_equal(sent, taken) and np.array_equal(memory.array()[3:1004], sent)
    prices = np.arange(12.0).reshape(3, 4)
    carillon.copy_to_device(memory, prices)
    assert np.array_equal(memory.array("f8", (3, 4)), prices)
    assert memory.views == 0


def test_copies_that_are_refused(memory: carillon.Memory) -> None:
    with pytest.raises(carillon.UsageError, match="4096"):
        carillon.copy_to_device(memory, b"12", offset=4095)
    with pytest.raises(carillon.UsageError):
        carillon.copy_from_device(bytearray(4097), memory)
    with pytest.raises((BufferError, ValueError)):
        carillon.copy_to_device(memory, np.zeros((8, 8))[:, ::2])
    with pytest.raises((BufferError, ValueError)):
        carillon.copy_from_device(b"constant", memory)
    with pytest.raises(TypeError):
        carillon.copy_to_device(memory, 12)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        carillon.copy_to_device(b"12", memory)  # type: ignore[arg-type]


def test_flush_and_invalidate(memory: carillon.Memory) -> None:
    assert memory.coherent and memory.atom_size >= 1
    memory.array()[:] = 1
    memory.flush()
    memory.invalidate(64, 64)
    with pytest.raises(carillon.UsageError, match="Memory.flush"):
        memory.flush(4096, 1)
    with pytest.raises(carillon.UsageError, match="Memory.invalidate"):
        memory.invalidate(1, 4096)
    for size in (-1, 1.5, "8", 1 << 70):
        with pytest.raises(carillon.UsageError, match="Memory.flush: a size must"):
            memory.flush(0, size)  # type: ignore[arg-type]
        with pytest.raises(carillon.UsageError, match="Memory.invalidate: a size must"):
            memory.invalidate(0, size)  # type: ignore[arg-type]


def test_owner(device: carillon.Device, memory: carillon.Memory) -> None:
    assert device.owns(memory)
    assert memory.device.info.selector == "emulated"


def test_memory_of_vulkan_that_is_not_coherent() -> None:
    try:
        device = carillon.Device("emulated:vulkan", force_non_coherent=True)
    except carillon.Error as error:
        pytest.skip(f"no driver of Vulkan's for CPUs: {error}")
    memory = device.allocate(4096)
    assert not memory.coherent
    memory.array()[:] = 1
    memory.flush()
    memory.invalidate()


def test_host_memory(device: carillon.Device) -> None:
    memory = device.allocate_host(64)
    memory.array("<u8")[7] = 5
    assert memory.array()[56] == 5


def test_objects_go_in_any_order() -> None:
    device = carillon.Device("emulated")
    memory = device.allocate(64)
    del device
    gc.collect()
    view = memory.array()
    del memory
    gc.collect()
    view[0] = 1


def test_stream_copy_needs_buffers_of_one_size(memory: carillon.Memory) -> None:
    part = memory.array("u1", 64, offset=64)
    carillon.stream_copy(part, bytes(range(64)))
    assert part[63] == 63 and memory.array()[63] == 0 and memory.array()[128] == 0
    with pytest.raises(ValueError, match="different sizes"):
        carillon.stream_copy(part, b"12")
    with pytest.raises(BufferError):
        carillon.stream_copy(b"12", b"34")
