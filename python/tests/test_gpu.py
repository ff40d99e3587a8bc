# SPDX-License-Identifier: Apache-2.0
"""On a GPU: its memory as CuPy, PyTorch and Numba find it, handlers in Python."""

from __future__ import annotations

import pathlib
from typing import Any

import numpy as np
import pytest

import carillon

SHAPE = (64, 32)
VALUES = np.arange(64 * 32, dtype=np.float32).reshape(SHAPE)


@pytest.fixture
def on_gpu(gpu: carillon.Device) -> carillon.Memory:
    return gpu.allocate(VALUES.nbytes)


def filled(memory: carillon.Memory) -> carillon.DeviceArray:
    """An array with VALUES, as the CPU has written them through its mapping."""
    mapped: Any = memory.array(np.float32, SHAPE)
    mapped[:] = VALUES
    memory.flush()
    return carillon.DeviceArray(memory, np.float32, SHAPE)


def seen_by_cpu(memory: carillon.Memory) -> np.ndarray:
    found = np.empty(SHAPE, np.float32)
    carillon.copy_from_device(found, memory)
    return found


@pytest.mark.parametrize("take", ["asarray", "from_dlpack"])
def test_cupy_cuda0(on_gpu: carillon.Memory, take: str) -> None:
    cupy = pytest.importorskip("cupy")
    array = getattr(cupy, take)(filled(on_gpu))
    assert array.data.ptr == on_gpu.device_ptr and array.shape == SHAPE
    assert np.array_equal(cupy.asnumpy(array), VALUES)
    array += 1.0
    cupy.cuda.get_current_stream().synchronize()
    assert np.array_equal(seen_by_cpu(on_gpu), VALUES + 1)
    with pytest.raises(carillon.UsageError, match="view"):
        on_gpu.free()


def test_torch_cuda0(on_gpu: carillon.Memory) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    for take in (torch.from_dlpack, lambda array: torch.as_tensor(array, device="cuda")):
        array = take(filled(on_gpu))
        assert array.data_ptr() == on_gpu.device_ptr and array.is_cuda
        assert np.array_equal(array.cpu().numpy(), VALUES)
        array += 1.0
        torch.cuda.synchronize()
        assert np.array_equal(seen_by_cpu(on_gpu), VALUES + 1)


def test_numba_cuda0(on_gpu: carillon.Memory) -> None:
    pytest.importorskip("numba_cuda")
    from numba import cuda

    array = cuda.as_cuda_array(filled(on_gpu))
    assert np.array_equal(array.copy_to_host(), VALUES)
    array.copy_to_device(VALUES + 1)
    assert np.array_equal(seen_by_cpu(on_gpu), VALUES + 1)


def test_jax_cuda0(on_gpu: carillon.Memory) -> None:
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("this JAX has no GPU")
    assert np.array_equal(np.asarray(jax.dlpack.from_dlpack(filled(on_gpu))), VALUES)


TICK = np.dtype([("bid", "<f8"), ("ask", "<f8"), ("sizes", "<u4", (2,))])
QUOTE = np.dtype([("mid", "<f8"), ("size", "<u4")], align=True)


def reprice(tick: Any, quote: Any) -> None:
    quote.mid = (tick.bid + tick.ask) / 2
    quote.size = tick.sizes[0] + tick.sizes[1]


def test_handler_in_python_cuda0(gpu: carillon.Device, tmp_path: pathlib.Path) -> None:
    pytest.importorskip("numba_cuda")
    try:
        handler = carillon.compile_handler(gpu, reprice, request=TICK, reply=QUOTE, cache=tmp_path)
    except carillon.UnsupportedError as error:
        pytest.skip(str(error))
    with carillon.PersistentKernel(gpu, handler) as kernel:
        client = kernel.client()
        for i in range(10_000):
            quote = client.call((i, i + 2.0, (i, 1)))
            assert quote["mid"] == i + 1 and quote["size"] == i + 1
        ticks = np.zeros(1000, TICK)
        ticks["bid"] = ticks["ask"] = np.arange(1000)
        assert np.array_equal(client.call_many(ticks)["mid"], np.arange(1000))
