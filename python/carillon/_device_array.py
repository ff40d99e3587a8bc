# SPDX-License-Identifier: Apache-2.0
"""Typed arrays over a device's memory, for GPU libraries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ._carillon import Memory, _dlpack, _MemoryView, _number
from ._codec import elements, extents
from .errors import UsageError, _made

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike

_DLPACK_CODES = {"i": 0, "u": 1, "f": 2, "c": 5, "b": 6}


class DeviceArray:
    """An array in `memory` at its device address: `cupy.asarray(DeviceArray(memory, "f4"))`.

    It has `__cuda_array_interface__` and DLPack, and keeps the memory while it lives.
    `offset` is in bytes; without a `shape` it is the rest of the memory in one dimension.

    Raises UsageError for freed memory, and if the array does not fit or is not aligned.
    """

    def __init__(
        self,
        memory: Memory,
        dtype: DTypeLike = np.uint8,
        shape: Sequence[int] | int | None = None,
        offset: int = 0,
    ) -> None:
        self.dtype = elements("DeviceArray", dtype)
        if self.dtype.hasobject or self.dtype.itemsize == 0:
            raise _made(UsageError, "DeviceArray", f"{self.dtype} is not an element type")
        self._held = _MemoryView._of(memory)
        self._memory = memory
        self.offset = _number("DeviceArray", "offset", offset)
        self.shape = self._shape(shape)
        self._check_range()

    def _shape(self, shape: Sequence[int] | int | None) -> tuple[int, ...]:
        if shape is None:
            return (max(self._memory.size - self.offset, 0) // self.dtype.itemsize,)
        return extents("DeviceArray", shape)

    def _check_range(self) -> None:
        size = math.prod(self.shape) * self.dtype.itemsize
        if self.offset + size > self._memory.size:
            raise _made(
                UsageError,
                "DeviceArray",
                f"bytes {self.offset} to {self.offset + size} exceed the memory of "
                f"{self._memory.size} bytes",
            )
        if self.offset % self.dtype.alignment:
            raise _made(
                UsageError, "DeviceArray", f"{self.dtype} is not aligned at byte {self.offset}"
            )

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        if self._memory.device.emulated:
            raise AttributeError(
                "__cuda_array_interface__: the memory belongs to the emulated device, not to CUDA"
            )
        return self._interface()

    def _interface(self) -> dict[str, Any]:
        address = self._memory.device_ptr + self.offset if self.nbytes else 0
        return {
            "shape": self.shape,
            "typestr": self.dtype.str,
            "descr": self.dtype.descr,
            "data": (address, False),
            "strides": None,
            "stream": None,
            "version": 3,
        }

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Returns a capsule; `stream` is not synchronized. Raises BufferError."""
        code = _DLPACK_CODES.get(self.dtype.kind)
        if code is None or not self.dtype.isnative:
            raise BufferError(f"__dlpack__: DLPack has no type for {self.dtype}")
        bits = 8 * self.dtype.itemsize
        return _dlpack(
            self._memory, self.offset, list(self.shape), code, bits, max_version, dl_device, copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._memory.__dlpack_device__()

    def __repr__(self) -> str:
        return f"<carillon.DeviceArray of {self.shape} {self.dtype} in {self._memory!r}>"
