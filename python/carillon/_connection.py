# SPDX-License-Identifier: Apache-2.0
"""Connections to kernels, rings, mailboxes and logs of other processes."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from ._carillon import (
    BytesChunkRing,
    BytesMailbox,
    BytesRing,
    LogReader,
    RawConnection,
    ServedObject,
    Store,
)
from ._chunk_ring import ChunkRing, meta_codec
from ._client import Client
from ._codec import codec
from ._mailbox import MOST_BYTES, Mailbox
from ._ring import Ring
from ._scoped import Scoped


class Owner(NamedTuple):
    """The owner at the other end of a connection."""

    name: str
    process: int
    """The process's number; 0 in another namespace."""
    user: int
    """The user's number, from the system."""


class Connection(Scoped):
    """A connection to a kernel's owner; this process needs neither CUDA nor a GPU.

    connect() makes it. Its clients and rings stay connected until they are deleted. Any thread may
    use it.
    """

    def __init__(self, raw: RawConnection) -> None:
        self._raw = raw

    def __repr__(self) -> str:
        return f"<carillon.Connection: {self._raw!r}>"

    def client(
        self,
        request: Any,
        reply: Any,
        object: str = "kernel",
        *,
        request_name: str = "",
        reply_name: str = "",
    ) -> Client:
        """A client of the kernel that the owner serves as `object`.

        The types' sizes are compared with the kernel's, and their names (such as "desk::Tick") if
        both sides give one. Raises RefusedError, TimeoutError, OwnerGoneError.
        """
        sent, taken = codec(request, "Connection.client"), codec(reply, "Connection.client")
        raw = self._raw.client(sent.size, request_name, taken.size, reply_name, object)
        return Client(raw, sent, taken)

    def ring(
        self, object: str, message: Any, direction: str = "to_device", *, name: str = ""
    ) -> Ring:
        """The host's end of a ring that the owner shares as `object`. Raises as client().

        `message` and `direction` are as in Ring(). `name`: the message type's C++ name.
        """
        kind = codec(message, "Connection.ring")
        return Ring._of(BytesRing._lent(self._raw, object, kind.size, name, direction), kind)

    def mailbox(
        self, object: str, value: Any, direction: str = "to_device", *, name: str = ""
    ) -> Mailbox:
        """The host's end of a mailbox that the owner shares as `object`. Raises as client().

        `value` and `direction` are as in Mailbox(). `name`: the value type's C++ name.
        """
        kind = codec(value, "Connection.mailbox", MOST_BYTES)
        return Mailbox._of(BytesMailbox._lent(self._raw, object, kind.size, name, direction), kind)

    def chunk_ring(self, object: str, meta: Any = None, *, name: str = "") -> ChunkRing:
        """The host's end of a ring of chunks that the owner shares. Raises as client().

        `meta` is as in ChunkRing(). `name`: the C++ name of the metadata's type.
        """
        kind = meta_codec(meta, "Connection.chunk_ring")
        size = kind.size if kind else 0
        return ChunkRing._of(BytesChunkRing._lent(self._raw, object, size, name), kind)

    def log(self, object: str = "log") -> LogReader:
        """Reads a log that the owner shares, from the oldest message still there.

        Raises as client().
        """
        return LogReader._lent(self._raw, object)

    def store(self) -> Store:
        """The owner's store of buffers, by a separate connection. Raises as connect()."""
        return Store._of(self._raw)

    def status(self) -> list[ServedObject]:
        """The served objects, and their blocks' clients. Raises OwnerGoneError, TimeoutError."""
        return self._raw.status()

    @property
    def owner(self) -> Owner:
        """The serving process."""
        return Owner(*self._raw.owner)

    @property
    def why_host_memory(self) -> str:
        """Why the last client's rings are in host memory; empty if they are not."""
        return self._raw.why_host_memory

    def close(self) -> None:
        """Ends the connection; its clients and rings stay connected."""
        self._raw.close()

    _end = close


def connect(
    path: str | os.PathLike[str],
    *,
    name: str = "",
    timeout: float = 5.0,
    wait_for_owner: float = 0.0,
    host_memory: bool = False,
    owner_user: int | None = None,
) -> Connection:
    """Connects to the owner that serves at `path`. `timeout` and `wait_for_owner` are in seconds.

    `name`: this client's name for the owner, up to 63 characters; empty: the program's name.
    `timeout`: for connecting, and for each call that asks the owner. `wait_for_owner`: the time for
    retries while no owner listens or has room, and, once connected, while the owner does not yet
    serve the requested object. `host_memory`: rings in host memory even if device memory can be
    mapped. `owner_user`: the number of the expected owner's user; None: this process's user or
    root. Raises SystemError if no process listens, RefusedError, also for an owner of another user,
    TimeoutError, UsageError.
    """
    return Connection(RawConnection(path, name, timeout, wait_for_owner, host_memory, owner_user))


__all__ = ["Connection", "Owner", "connect"]
