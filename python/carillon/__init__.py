# SPDX-License-Identifier: Apache-2.0
"""Low-latency command of a running GPU kernel from Python.

Devices and memory, clients, rings, mailboxes and rings of chunks, kernels with handlers in Python
(emulated device) or as text (GPU), and errors with the texts of the C++ library. docs/python.md has
examples.
"""

from ._carillon import (
    Buffer,
    BufferInfo,
    ChannelCounters,
    Device,
    DeviceInfo,
    HeapInfo,
    LogReader,
    LogRecord,
    Memory,
    MemoryTypeInfo,
    MutableBuffer,
    SealedBuffer,
    SealedBuffers,
    SealedEvents,
    ServedBlock,
    ServedObject,
    Server,
    Store,
    Ticket,
    Tickets,
    copy_from_device,
    copy_to_device,
    stream_copy,
)
from ._carillon import _version as __version__
from ._chunk_ring import Chunk, ChunkRing, ChunkRingDeviceEnd, TakenChunk
from ._client import Client
from ._connection import Connection, Owner, connect
from ._device_array import DeviceArray
from ._handler_text import CompiledHandler, compile_handler
from ._kernel import PersistentKernel
from ._mailbox import Mailbox, MailboxDeviceEnd
from ._ring import Ring, RingDeviceEnd
from .errors import *
from .errors import __all__ as _errors

connect_store = Store._connect

__all__ = [
    "Buffer",
    "BufferInfo",
    "ChannelCounters",
    "Chunk",
    "ChunkRing",
    "ChunkRingDeviceEnd",
    "Client",
    "CompiledHandler",
    "Connection",
    "Device",
    "DeviceArray",
    "DeviceInfo",
    "HeapInfo",
    "LogReader",
    "LogRecord",
    "Mailbox",
    "MailboxDeviceEnd",
    "Memory",
    "MemoryTypeInfo",
    "MutableBuffer",
    "Owner",
    "PersistentKernel",
    "Ring",
    "RingDeviceEnd",
    "SealedBuffer",
    "SealedBuffers",
    "SealedEvents",
    "ServedBlock",
    "ServedObject",
    "Server",
    "Store",
    "TakenChunk",
    "Ticket",
    "Tickets",
    "__version__",
    "compile_handler",
    "connect",
    "connect_store",
    "copy_from_device",
    "copy_to_device",
    "stream_copy",
    *_errors,
]
