# SPDX-License-Identifier: Apache-2.0
"""Low-latency command of a running GPU kernel from Python.

Devices and memory, clients and rings, kernels of the emulated device with handlers in Python, and
errors with the texts of the C++ library. docs/python.md has examples.
"""

from ._carillon import (
    ChannelCounters,
    Device,
    DeviceInfo,
    HeapInfo,
    Memory,
    MemoryTypeInfo,
    ServedBlock,
    ServedObject,
    Server,
    Ticket,
    Tickets,
    __version__,
    copy_from_device,
    copy_to_device,
)
from ._client import Client
from ._connection import Connection, Owner, connect
from ._device_array import DeviceArray
from ._kernel import PersistentKernel
from ._ring import Ring, RingDeviceEnd
from .errors import *  # noqa: F403
from .errors import __all__ as _errors

__all__ = [
    "ChannelCounters",
    "Client",
    "Connection",
    "Device",
    "DeviceArray",
    "DeviceInfo",
    "HeapInfo",
    "Memory",
    "MemoryTypeInfo",
    "Owner",
    "PersistentKernel",
    "Ring",
    "RingDeviceEnd",
    "ServedBlock",
    "ServedObject",
    "Server",
    "Ticket",
    "Tickets",
    "__version__",
    "connect",
    "copy_from_device",
    "copy_to_device",
    *_errors,
]
