# SPDX-License-Identifier: Apache-2.0
"""Kernels with a handler in Python or as text, and their servers."""

from __future__ import annotations

import atexit
import os
import time
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from ._carillon import BytesKernel, Device, Server, _close_handlers
from ._client import Client
from ._codec import Codec, codec
from ._handler_python import fill_by_bytes, fills_reply
from ._handler_text import CompiledHandler, compile_handler
from ._scoped import Scoped
from .errors import Error, ForkError, UsageError, _made, _require


def _by_bytes(
    handler: Callable[..., Any], request: Codec, reply: Codec
) -> Callable[[bytes], bytes]:
    def serve(data: bytes) -> bytes:
        return reply.encode(handler(request.decode(data)), "reply")

    return fill_by_bytes(handler, request, reply) if fills_reply(handler) else serve


def _compiled(
    device: Device, handler: Any, request: Any, reply: Any, names: dict[str, Any]
) -> CompiledHandler:
    """The handler of a GPU's kernel. Raises as compile_handler()."""
    if isinstance(handler, CompiledHandler):
        return handler
    return compile_handler(device, handler, request=request, reply=reply, **names)


class PersistentKernel(Scoped):
    """A kernel that never stops, whose `handler` answers requests.

    On every device the handler may be a function `handler(request, reply)` of two records,
    with the members of the message types, that fills the second: on a GPU numba-cuda compiles
    it. On a GPU it may also be text in CUDA C++ or a result of compile_handler(); with
    several kernels, compile before the first one starts. On the emulated device it may be any
    callable from a request to a reply. Every block is then a thread that calls it, several blocks
    at once; its exception ends the kernel, and waiting callers get an Error with its text.

    `request` and `reply` are message types: a NumPy dtype, a dataclass or a number of bytes; a
    compiled handler has its own. `request_name` and `reply_name` are their C++ names, such as
    "desk::Tick", which are compared with those of clients in other processes. `blocks`: the number
    of blocks; each has a channel. `capacity`: slots of a channel each way, a power of two from 2 to
    2^20. `shared`: its blocks are for clients in other processes, which serve() lets in.

    Raises UnsupportedError for text on the emulated device, what compile_handler() raises,
    UsageError for the types, ResidencyError, TimeoutError.
    """

    def __init__(
        self,
        device: Device,
        handler: Callable[..., Any] | str | CompiledHandler,
        *,
        request: Any = None,
        reply: Any = None,
        blocks: int = 1,
        capacity: int = 256,
        shared: bool = False,
        request_name: str = "",
        reply_name: str = "",
    ) -> None:
        _require(Device, "PersistentKernel", "device", device)
        if (request is None or reply is None) and not isinstance(handler, CompiledHandler):
            raise _made(UsageError, "PersistentKernel", "request or reply is None: give both types")
        names = {"request_name": request_name, "reply_name": reply_name}
        if isinstance(handler, (str, CompiledHandler)) or not device.emulated:
            compiled = _compiled(device, handler, request, reply, names)
            self._request, self._reply = compiled._request, compiled._reply
            self._raw = BytesKernel._of_text(device, compiled._code, blocks, capacity, shared)
        else:
            self._request = codec(request, "PersistentKernel")
            self._reply = codec(reply, "PersistentKernel")
            self._raw = BytesKernel(
                device,
                _by_bytes(handler, self._request, self._reply) if callable(handler) else handler,
                self._request.size,
                self._reply.size,
                request_name,
                reply_name,
                blocks,
                capacity,
                shared,
            )
        _kernels.add(self._raw)

    def __repr__(self) -> str:
        of = f"{self._request} to {self._reply}"
        try:
            state = self.state
        except ForkError:
            state = "of the process that forked this one"
        return f"<carillon.PersistentKernel of {of}, {state}>"

    def client(self, block: int = 0) -> Client:
        """The client of a block; all clients of one block share its channel.

        Raises UsageError for a block that does not exist, and if the kernel is `shared`.
        """
        return Client(self._raw.client(block), self._request, self._reply, self._raw)

    def serve(
        self,
        path: str | os.PathLike[str],
        name: str = "kernel",
        *,
        mode: int = 0o600,
        users: Sequence[int] = (),
        groups: Sequence[int] = (),
    ) -> Server:
        """Serves clients in other processes, which ask for `name`, at a socket. See Server.

        Raises UsageError unless the kernel is `shared`, and as Server.
        """
        return self._raw.serve(path, name, mode, users, groups)

    def add_to(self, server: Server, name: str) -> None:
        """Serves clients of `server` that ask for `name`.

        Raises UsageError unless the kernel is `shared`, and for a name that is taken or invalid.
        """
        self._raw.add_to(server, name)

    def drain(self, timeout: float = 5.0) -> None:
        """Takes no more requests, and ends the kernel once it has answered all of them.

        Raises TimeoutError; the kernel then goes on draining. Also raises the error that ended it.
        """
        self._raw.drain(timeout)

    def stop(self, timeout: float = 5.0) -> None:
        """Ends the kernel at once; requests may stay unanswered.

        Raises TimeoutError if it has not ended, and the error that ended it before.
        """
        self._raw.stop(timeout)

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return self._raw.blocks

    @property
    def state(self) -> str:
        """ "starting", "running", "draining", "stopped" or "failed"."""
        return self._raw.state

    @property
    def running(self) -> bool:
        """Whether the kernel runs. Raises the error that ended it."""
        return self._raw.running

    def _end(self) -> None:
        self.stop()


_kernels: weakref.WeakSet[BytesKernel] = weakref.WeakSet()  # clients keep them, too
_AT_EXIT = 1.0  # seconds, for all of them


@atexit.register
def _stop_all() -> None:
    """A handler cannot be called once the interpreter ends."""
    kernels = list(_kernels)
    deadline = time.monotonic() + _AT_EXIT
    for wait in (False, True):  # every kernel gets its stop before the first wait
        for kernel in kernels:
            try:
                kernel.stop(max(deadline - time.monotonic(), 0.0) if wait else 0.0)
            except Error:
                pass
    _close_handlers()


__all__ = ["PersistentKernel", "Server"]
