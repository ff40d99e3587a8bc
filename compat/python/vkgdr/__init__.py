# SPDX-License-Identifier: Apache-2.0
"""The interface of vkgdr's Python package, by carillon: `import carillon.vkgdr as vkgdr`.

Differences: memory is freed with its last view, while vkgdr needs free() and leaves views dangling;
`Vkgdr` also takes one of carillon's selectors, such as "emulated" for tests without a GPU.
`carillon.vkgdr.pycuda` and `carillon.vkgdr.cupy` have a Memory for those libraries.
"""

from __future__ import annotations

import ctypes
import enum
import functools
import operator
from typing import Any, NoReturn, TypeVar

from carillon import CudaError, Device, Error, OutOfMemoryError, __version__, stream_copy

_V = TypeVar("_V", bound="Vkgdr")


class OpenFlags(enum.IntEnum):
    """Flags of Vkgdr, to be combined with `|`."""

    CURRENT_CONTEXT_BIT = 1
    """Use the thread's current CUDA context, whichever device is named."""
    FORCE_NON_COHERENT_BIT = 2
    """Treat memory as non-coherent even if it is coherent; finds missing flushes."""
    REQUIRE_COHERENT_BIT = 4
    """Fail unless memory is coherent."""


class VkgdrError(RuntimeError):
    """An error: with vkgdr's text if CUDA reports it, else with carillon's.

    If memory is short, vkgdr's name of the error follows carillon's text in brackets.
    """


def _raise(error: Error) -> NoReturn:
    """Raises a VkgdrError for `error`."""
    text = str(error)
    if isinstance(error, CudaError):
        text = f"{error.call} failed ({error.code_name})"
    elif isinstance(error, OutOfMemoryError):
        text += " (VK_ERROR_OUT_OF_DEVICE_MEMORY)"
    raise VkgdrError(text) from error


class _Driver:
    """The calls of the CUDA driver that vkgdr makes."""

    def __init__(self) -> None:
        ctypes.CDLL("libvulkan.so.1")  # vkgdr looks for it first
        self._cuda = ctypes.CDLL("libcuda.so.1")

    def _require(self, call: str, result: int) -> None:
        if result == 0:
            return
        name = ctypes.c_char_p()
        if self._cuda.cuGetErrorName(result, ctypes.byref(name)) != 0 or name.value is None:
            raise VkgdrError(f"{call} failed (unknown CUDA error {result})")
        raise VkgdrError(f"{call} failed ({name.value.decode()})")

    def require_device(self, device: int) -> None:
        uuid = ctypes.create_string_buffer(16)
        self._require("cuDeviceGetUuid", self._cuda.cuDeviceGetUuid(uuid, device))

    def current_device(self, call: str) -> int:
        """The device of the thread's context. An error names `call`."""
        device = ctypes.c_int()
        self._require(call, self._cuda.cuCtxGetDevice(ctypes.byref(device)))
        return device.value

    def has_current(self, device: int) -> bool:
        current = ctypes.c_int()
        found = self._cuda.cuCtxGetDevice(ctypes.byref(current))
        return found == 0 and current.value == device


@functools.cache
def _driver() -> _Driver:
    try:
        return _Driver()
    except OSError as error:
        raise VkgdrError(str(error)) from error


def _device_number(device: int) -> int:
    number = operator.index(device)
    if not -(2**31) <= number < 2**31:
        raise VkgdrError(f"Vkgdr: device is {number}: expected a whole number of 32 bits")
    return number


class Vkgdr:
    """A device that memory comes from: CUDA's GPU number `device`.

    Memory belongs to the CUDA context that is current at its allocation. Raises VkgdrError.
    """

    def __init__(self, device: int | str, flags: int = 0) -> None:
        flags = operator.index(flags)
        if flags & ~sum(OpenFlags):
            raise VkgdrError(f"Vkgdr: {flags:#x} has unknown flags")
        self._options = {
            "require_coherent": bool(flags & OpenFlags.REQUIRE_COHERENT_BIT),
            "force_non_coherent": bool(flags & OpenFlags.FORCE_NON_COHERENT_BIT),
        }
        self._by_name: Device | None = None
        if flags & OpenFlags.CURRENT_CONTEXT_BIT:
            self._number = _driver().current_device("cuCtxGetDevice")
        elif isinstance(device, str):
            self._by_name = self._open(device)
            return
        else:
            self._number = _device_number(device)
        _driver().require_device(self._number)
        # Without a context there is nothing to open yet: vkgdr makes none.
        if _driver().has_current(self._number):
            self._opened()

    def _open(self, selector: str) -> Device:
        try:
            return Device(selector, memory="mapped", **self._options)
        except Error as error:
            _raise(error)

    def _opened(self) -> Device:
        """The device that allocates now."""
        if self._by_name is not None:
            return self._by_name
        current = _driver().current_device("cuImportExternalMemory")
        if current != self._number:
            raise VkgdrError(
                f"RawMemory: the current CUDA context is for device {current}, "
                f"but the handle is for device {self._number}"
            )
        return self._open("current")

    @classmethod
    def open_current_context(cls: type[_V], flags: int = 0) -> _V:  # noqa: PYI019
        """The GPU of the calling thread's current CUDA context."""
        return cls(0, operator.index(flags) | OpenFlags.CURRENT_CONTEXT_BIT)


class RawMemory:
    """`size` bytes of a device's memory, mapped into the CPU. `flags` is 0.

    The memory belongs to the thread's current CUDA context, which must be on the device of `owner`.
    `numpy.asarray(memory)` is a view of it, with elements of one byte ("|V1"). Raises
    VkgdrError, after free() too.
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        if operator.index(flags):
            raise VkgdrError(f"RawMemory: flags is {flags:#x}: expected 0")
        if not isinstance(owner, Vkgdr):
            raise VkgdrError(f"RawMemory: owner is {owner!r}: expected a Vkgdr")
        try:
            self._memory = owner._opened().allocate(size)
        except Error as error:
            _raise(error)

    def free(self) -> None:
        """Frees the memory, once. If views exist, the memory stays until the last view is gone."""
        try:
            self._memory.free()
        except Error as error:
            _raise(error)

    def _get(self, name: str) -> Any:
        try:
            return getattr(self._memory, name)
        except Error as error:
            _raise(error)

    @property
    def __array_interface__(self) -> dict[str, Any]:
        return {**self._get("__array_interface__"), "typestr": "|V1"}

    @property
    def device_ptr(self) -> int:
        """The address for CUDA."""
        return int(self._get("device_ptr"))

    def _lent_device_ptr(self) -> int:
        """The address for a caller that keeps this object, and thereby the memory, freed or not."""
        self._get("__array_interface__")  # free() leaves memory whose address was given so
        return self.device_ptr

    def __len__(self) -> int:
        """Its size in bytes."""
        return int(self._get("size"))

    @property
    def is_coherent(self) -> bool:
        """Whether flush() and invalidate() need no driver call."""
        return bool(self._get("coherent"))

    @property
    def non_coherent_atom_size(self) -> int:
        """The unit of flush() and invalidate() in bytes; 1 if the memory is coherent."""
        return int(self._get("atom_size"))

    def flush(self, offset: int, size: int) -> None:
        """Lets the device see what the CPU has written to `size` bytes from byte `offset` on."""
        try:
            self._memory.flush(offset, size)
        except Error as error:
            _raise(error)

    def invalidate(self, offset: int, size: int) -> None:
        """Lets the CPU see what the device has written to these bytes."""
        try:
            self._memory.invalidate(offset, size)
        except Error as error:
            _raise(error)


def memcpy_stream(dest: object, src: object) -> None:
    """Copies the bytes of a buffer into another buffer of the same size, by whole lines.

    Raises ValueError for different sizes, BufferError for one that is not contiguous or writable.
    """
    stream_copy(dest, src)


__all__ = ["OpenFlags", "RawMemory", "Vkgdr", "VkgdrError", "__version__", "memcpy_stream"]
