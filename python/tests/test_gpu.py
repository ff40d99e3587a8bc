# SPDX-License-Identifier: Apache-2.0
"""On a GPU: its memory as CuPy, PyTorch and Numba find it, vkgdr's calls, handlers in Python."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import importlib
import pathlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import carillon
from carillon import vkgdr

if TYPE_CHECKING:
    from collections.abc import Iterator

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


class Contexts:
    """CUDA contexts of a program's own, of GPU 0."""

    INCREMENT = b"""
        .version 6.3
        .target sm_75
        .address_size 64
        .visible .entry increment(.param .u64 p) {
            .reg .u64 %rd<2>;
            .reg .u32 %r<2>;
            ld.param.u64 %rd1, [p];
            cvta.to.global.u64 %rd1, %rd1;
            ld.global.u32 %r1, [%rd1];
            add.u32 %r1, %r1, 1;
            st.global.u32 [%rd1], %r1;
            ret;
        }
        """

    def __init__(self) -> None:
        self._cuda = ctypes.CDLL("libcuda.so.1")
        self._call("cuInit", 0)

    def _call(self, name: str, *arguments: Any) -> None:
        result = getattr(self._cuda, name)(*arguments)
        assert result == 0, f"{name}: CUDA error {result}"

    def new(self) -> ctypes.c_void_p:
        context = ctypes.c_void_p()
        self._call("cuCtxCreate_v2", ctypes.byref(context), 0, 0)
        self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))
        return context

    def destroy(self, context: ctypes.c_void_p) -> None:
        self._call("cuCtxDestroy_v2", context)

    @contextlib.contextmanager
    def current(self, context: ctypes.c_void_p) -> Iterator[None]:
        self._call("cuCtxPushCurrent_v2", context)
        try:
            yield
        finally:
            self._call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))

    def increment(self, memory: vkgdr.RawMemory) -> None:
        """By a kernel in the current context, which faults for memory of another."""
        array = np.asarray(memory).view(np.uint32)
        array[0] = 41
        memory.flush(0, 4)
        module, function = ctypes.c_void_p(), ctypes.c_void_p()
        self._call("cuModuleLoadData", ctypes.byref(module), self.INCREMENT)
        self._call("cuModuleGetFunction", ctypes.byref(function), module, b"increment")
        address = ctypes.c_uint64(memory.device_ptr)
        arguments = (ctypes.c_void_p * 1)(ctypes.addressof(address))
        self._call("cuLaunchKernel", function, 1, 1, 1, 1, 1, 1, 0, None, arguments, None)
        self._call("cuCtxSynchronize")
        memory.invalidate(0, 4)
        assert array[0] == 42


def test_vkgdr_memory_is_of_the_current_context_cuda0(gpu: carillon.Device) -> None:
    contexts = Contexts()
    first, second = contexts.new(), contexts.new()
    of_device = vkgdr.Vkgdr(0)
    with contexts.current(first):
        of_context = vkgdr.Vkgdr.open_current_context()
        contexts.increment(vkgdr.RawMemory(of_device, 4096))
        contexts.increment(vkgdr.RawMemory(vkgdr.Vkgdr(0), 4096))
        contexts.increment(vkgdr.RawMemory(vkgdr.Vkgdr.open_current_context(), 4096))
    with contexts.current(second):
        contexts.increment(vkgdr.RawMemory(of_context, 4096))
    contexts.destroy(first)
    with contexts.current(second):
        contexts.increment(vkgdr.RawMemory(of_context, 4096))
    with concurrent.futures.ThreadPoolExecutor(1) as without_context:
        for opened in (of_device, of_context):
            with pytest.raises(vkgdr.VkgdrError, match="cuImport.*CUDA_ERROR_INVALID_CONTEXT"):
                without_context.submit(vkgdr.RawMemory, opened, 4096).result()
    contexts.destroy(second)


def test_vkgdr_memory_outlives_its_context_cuda0(gpu: carillon.Device) -> None:
    contexts = Contexts()
    context = contexts.new()
    with contexts.current(context):
        memory = vkgdr.RawMemory(vkgdr.Vkgdr(0), 4096)
    contexts.destroy(context)
    np.asarray(memory)[:1].view(np.uint8)[0] = 7
    memory.free()


def test_vkgdr_in_cupys_context_cuda0(gpu: carillon.Device) -> None:
    cupy = pytest.importorskip("cupy")
    cupy.zeros(1)  # makes its context, and that the current one
    module = importlib.import_module("carillon.vkgdr.cupy")
    memory = module.Memory(vkgdr.Vkgdr.open_current_context(), 4096)
    np.asarray(memory).view(np.uint8)[:] = 3
    memory.flush(0, 4096)
    array = memory.array("u1", (64, 64))
    assert int(array.sum()) == 3 * 4096
    assert np.array_equal(cupy.asnumpy(array), np.full((64, 64), 3, np.uint8))


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
