# SPDX-License-Identifier: Apache-2.0
"""The interface of vkgdr's Python package, by carillon: `import carillon.vkgdr as vkgdr`.

What differs: memory goes with its last view, where vkgdr needs free() and leaves views dangling;
`Vkgdr` takes one of carillon's selectors too, as "emulated", for tests without a GPU.
`carillon.vkgdr.pycuda` and `carillon.vkgdr.cupy` have a Memory for those libraries.
"""

from __future__ import annotations

import enum
import operator
from typing import Any, NoReturn, TypeVar

from .. import _carillon
from .._carillon import _version as __version__
from ..errors import CudaError, Error, OutOfMemoryError, _require

_V = TypeVar("_V", bound="Vkgdr")


class OpenFlags(enum.IntEnum):
    """What Vkgdr takes as flags, to be combined with `|`."""

    CURRENT_CONTEXT_BIT = 1
    """Use the thread's current CUDA context, whichever device is named."""
    FORCE_NON_COHERENT_BIT = 2
    """Treat memory as non-coherent even where it is coherent; to find mistakes."""
    REQUIRE_COHERENT_BIT = 4
    """Fail unless memory is coherent."""


class VkgdrError(RuntimeError):
    """What went wrong: vkgdr's text where CUDA refuses, else carillon's.

    vkgdr's name of a failure of memory follows carillon's text, in brackets.
    """


def _raise(error: Error) -> NoReturn:
    """Raises a VkgdrError for `error`."""
    text = str(error)
    if isinstance(error, CudaError):
        text = f"{error.call} failed ({error.code_name})"
    elif isinstance(error, OutOfMemoryError):
        text += " (VK_ERROR_OUT_OF_DEVICE_MEMORY)"
    raise VkgdrError(text) from error


class Vkgdr:
    """A device that memory is taken from: the GPU that CUDA counts as `device`.

    Memory is of the CUDA context that is current when it is allocated. Raises VkgdrError.
    """

    def __init__(self, device: int | str, flags: int = 0) -> None:
        flags = operator.index(flags)
        if flags & ~sum(OpenFlags):
            raise VkgdrError(f"Vkgdr: {flags:#x} has bits that are no flags")
        how = {
            "require_coherent": bool(flags & OpenFlags.REQUIRE_COHERENT_BIT),
            "force_non_coherent": bool(flags & OpenFlags.FORCE_NON_COHERENT_BIT),
        }
        self._device: _carillon.Device | _carillon._VkgdrDevice
        try:
            if flags & OpenFlags.CURRENT_CONTEXT_BIT:
                self._device = _carillon._VkgdrDevice(None, **how)
            elif isinstance(device, str):
                self._device = _carillon.Device(device, memory="mapped", **how)
            else:
                self._device = _carillon._VkgdrDevice(operator.index(device), **how)
        except Error as error:
            _raise(error)

    def _opened(self) -> _carillon.Device:
        """The device that allocates now."""
        if isinstance(self._device, _carillon.Device):
            return self._device
        return self._device.in_current_context()

    @classmethod
    def open_current_context(cls: type[_V], flags: int = 0) -> _V:  # noqa: PYI019
        """The GPU of the calling thread's current CUDA context."""
        return cls(0, operator.index(flags) | OpenFlags.CURRENT_CONTEXT_BIT)


class RawMemory:
    """`size` bytes of a device's memory, mapped into the CPU. `flags` is 0.

    The memory is of the thread's current CUDA context, which has to be of the device of `owner`.
    NumPy has a view of it by `numpy.asarray(memory)`, of elements of one byte ("|V1"). Raises
    VkgdrError, after free() too.
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        if operator.index(flags):
            raise VkgdrError(f"RawMemory: there are no flags of memory, {flags:#x} among them")
        try:
            _require(Vkgdr, "RawMemory", "owner", owner)
            self._memory = owner._opened().allocate(size)
        except Error as error:
            _raise(error)

    def free(self) -> None:
        """Lets go of the memory, once. Where views were made it stays until the last has gone."""
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
        """Where CUDA finds it."""
        return int(self._get("device_ptr"))

    def _lent_device_ptr(self) -> int:
        """The same for who keeps this object with it: the memory stays as long, freed or not."""
        return int(self._get("_lent_device_ptr"))

    def __len__(self) -> int:
        """Its size in bytes."""
        return int(self._get("size"))

    @property
    def is_coherent(self) -> bool:
        """Whether flush() and invalidate() have nothing to do."""
        return bool(self._get("coherent"))

    @property
    def non_coherent_atom_size(self) -> int:
        """Bytes that flush() and invalidate() go by; 1 if it is coherent."""
        return int(self._get("atom_size"))

    def flush(self, offset: int, size: int) -> None:
        """Lets the device see what the CPU has written to `size` bytes from byte `offset` on."""
        try:
            self._memory.flush(offset, size)
        except Error as error:
            _raise(error)

    def invalidate(self, offset: int, size: int) -> None:
        """Lets the CPU see what the device has written there."""
        try:
            self._memory.invalidate(offset, size)
        except Error as error:
            _raise(error)


def memcpy_stream(dest: object, src: object) -> None:
    """Copies the bytes of a buffer into another one of the same size, by whole lines.

    Raises ValueError for sizes that differ, BufferError for what is not contiguous or writable.
    """
    _carillon._stream_copy(dest, src)


__all__ = ["OpenFlags", "RawMemory", "Vkgdr", "VkgdrError", "__version__", "memcpy_stream"]
