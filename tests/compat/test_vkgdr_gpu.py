# SPDX-License-Identifier: Apache-2.0
"""carillon.vkgdr on a GPU."""

from __future__ import annotations

import concurrent.futures
import contextlib
import ctypes
import importlib
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import carillon
from carillon import vkgdr

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def gpu() -> carillon.Device:
    """The first GPU, where there is one."""
    try:
        return carillon.Device("cuda:0")
    except (carillon.DeviceNotFoundError, carillon.UnsupportedError) as error:
        pytest.skip(str(error))


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


def test_vkgdr_memory_is_of_the_current_context_cuda0() -> None:
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


def test_vkgdr_memory_outlives_its_context_cuda0() -> None:
    contexts = Contexts()
    context = contexts.new()
    with contexts.current(context):
        memory = vkgdr.RawMemory(vkgdr.Vkgdr(0), 4096)
    contexts.destroy(context)
    np.asarray(memory)[:1].view(np.uint8)[0] = 7
    memory.free()


def test_vkgdr_in_cupys_context_cuda0() -> None:
    cupy = pytest.importorskip("cupy")
    cupy.zeros(1)  # makes its context, and that the current one
    module = importlib.import_module("carillon.vkgdr.cupy")
    memory = module.Memory(vkgdr.Vkgdr.open_current_context(), 4096)
    np.asarray(memory).view(np.uint8)[:] = 3
    memory.flush(0, 4096)
    array = memory.array("u1", (64, 64))
    assert int(array.sum()) == 3 * 4096
    assert np.array_equal(cupy.asnumpy(array), np.full((64, 64), 3, np.uint8))
