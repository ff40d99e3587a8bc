# SPDX-License-Identifier: Apache-2.0
"""Low-latency command of a running GPU kernel from Python.

Devices, memory that the CPU and the device share, and errors with the texts of the C++ library.
docs/python.md has examples.
"""

from ._carillon import (
    Device,
    DeviceInfo,
    HeapInfo,
    Memory,
    MemoryTypeInfo,
    __version__,
    copy_from_device,
    copy_to_device,
)
from ._device_array import DeviceArray
from .errors import *  # noqa: F403
from .errors import __all__ as _errors

__all__ = [
    "Device",
    "DeviceArray",
    "DeviceInfo",
    "HeapInfo",
    "Memory",
    "MemoryTypeInfo",
    "__version__",
    "copy_from_device",
    "copy_to_device",
    *_errors,
]
