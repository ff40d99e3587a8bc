# SPDX-License-Identifier: Apache-2.0
"""Memory for CuPy: `Memory(vkgdr, size).array("f4", (64, 64))` is a CuPy array."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import cupy
import numpy as np

from . import RawMemory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike


class Memory(RawMemory):
    """RawMemory for CuPy. Arrays keep it, freed or not."""

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return dict(self._get("__cuda_array_interface__"))

    @property
    def pointer(self) -> Any:
        """A cupy.cuda.MemoryPointer to its first byte."""
        memory = cupy.cuda.UnownedMemory(self._lent_device_ptr(), len(self), self)
        return cupy.cuda.MemoryPointer(memory, 0)

    def array(self, dtype: DTypeLike = np.uint8, shape: Sequence[int] | None = None) -> Any:
        """A cupy.ndarray over its first bytes, over all of them without a shape.

        Raises ValueError for what does not fit.
        """
        size = np.dtype(dtype).itemsize
        wanted = (len(self) // size,) if shape is None else tuple(shape)
        if math.prod(wanted) * size > len(self):
            raise ValueError(f"{wanted} of {dtype} do not fit into {len(self)} bytes")
        return cupy.ndarray(wanted, dtype, self.pointer)


__all__ = ["Memory"]
