# SPDX-License-Identifier: Apache-2.0
"""The interface of vkgdr's Python package, by carillon: `import carillon.vkgdr as vkgdr`.

What differs: memory goes with its last view, where vkgdr needs free() and leaves views dangling;
`Vkgdr` takes one of carillon's selectors too, as "emulated", for tests without a GPU.
`carillon.vkgdr.pycuda` and `carillon.vkgdr.cupy` have a Memory for those libraries.
"""

from __future__ import annotations

import enum
from typing import Any, NoReturn, TypeVar

from .. import _carillon
from .._carillon import _version as __version__
from ..errors import DeviceNotFoundError, Error, OutOfMemoryError, UsageError

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
    """What went wrong: carillon's text, behind the name that vkgdr gives the failure if it does."""


def _raise(error: Error, vkgdrs_name: str = "") -> NoReturn:
    """Raises a VkgdrError for `error`, with vkgdr's name of it in brackets."""
    if isinstance(error, OutOfMemoryError):
        vkgdrs_name = "VK_ERROR_OUT_OF_DEVICE_MEMORY"
    raise VkgdrError(f"{error} ({vkgdrs_name})" if vkgdrs_name else str(error)) from error


def _raise_not_opened(error: Error, selector: str) -> NoReturn:
    """The same for a device that is not opened."""
    if selector == "current" and isinstance(error, UsageError):
        _raise(error, "CUDA_ERROR_INVALID_CONTEXT")
    has_gpus = any(not device.emulated for device in _carillon.Device.list())
    if has_gpus and isinstance(error, DeviceNotFoundError):
        _raise(error, "CUDA_ERROR_INVALID_DEVICE")
    _raise(error)


def _selector(device: int | str, flags: int) -> str:
    if flags & OpenFlags.CURRENT_CONTEXT_BIT:
        return "current"
    if isinstance(device, str):
        return device
    if device < 0:
        raise VkgdrError(f"Vkgdr: no device has the number {device} (CUDA_ERROR_INVALID_DEVICE)")
    return f"cuda:{device}"


class Vkgdr:
    """A device that memory is taken from: the GPU that CUDA counts as `device`.

    Raises VkgdrError.
    """

    def __init__(self, device: int | str, flags: int = 0) -> None:
        if flags & ~sum(OpenFlags):
            raise VkgdrError(f"Vkgdr: {flags:#x} has bits that are no flags")
        selector = _selector(device, flags)
        try:
            self._device = _carillon.Device(
                selector,
                memory="mapped",
                require_coherent=bool(flags & OpenFlags.REQUIRE_COHERENT_BIT),
                force_non_coherent=bool(flags & OpenFlags.FORCE_NON_COHERENT_BIT),
            )
        except Error as error:
            _raise_not_opened(error, selector)

    @classmethod
    def open_current_context(cls: type[_V], flags: int = 0) -> _V:  # noqa: PYI019
        """The GPU of the calling thread's current CUDA context, in that context."""
        return cls(0, flags | OpenFlags.CURRENT_CONTEXT_BIT)


class RawMemory:
    """`size` bytes of a device's memory, mapped into the CPU. `flags` is 0.

    NumPy has a view of it by `numpy.asarray(memory)`, of elements of one byte ("|V1"). Raises
    VkgdrError, after free() too.
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        if flags:
            raise VkgdrError(f"RawMemory: there are no flags of memory, {flags:#x} among them")
        try:
            self._memory = owner._device.allocate(size)
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
