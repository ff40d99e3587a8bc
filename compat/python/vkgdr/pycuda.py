# SPDX-License-Identifier: Apache-2.0
"""Memory for pycuda: `pycuda.gpuarray.GPUArray(shape, dtype, gpudata=memory)`."""

from __future__ import annotations

import pycuda.driver

from . import RawMemory, Vkgdr, VkgdrError


class Memory(pycuda.driver.PointerHolderBase, RawMemory):  # type: ignore[misc]
    """RawMemory that pycuda takes for a pointer, in the current CUDA context, which it keeps.

    The context must not be detached before the memory is freed. Raises VkgdrError, also without a
    current context.
    """

    def __init__(self, owner: Vkgdr, size: int, flags: int = 0) -> None:
        self._context = pycuda.driver.Context.get_current()
        if self._context is None:
            raise VkgdrError("Memory: this thread has no current CUDA context")
        RawMemory.__init__(self, owner, size, flags)
        pycuda.driver.PointerHolderBase.__init__(self)

    def get_pointer(self) -> int:
        """The address for CUDA, for a caller that keeps this object and so the memory."""
        return self._lent_device_ptr()


__all__ = ["Memory"]
