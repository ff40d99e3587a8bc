# SPDX-License-Identifier: Apache-2.0
"""Clients of kernels in this process and in others."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from ._carillon import BytesClient, BytesKernel, ChannelCounters, Ticket, Tickets, _seconds
from ._codec import Codec
from .errors import TimeoutError, _made, _require

_POLLS_AT_ONCE = 64  # of call_async(), before it sleeps between two
_LONGEST_SLEEP = 1e-3  # seconds


class Client:
    """Sends requests to a kernel and takes the reply to each. One thread at a time.

    PersistentKernel.client() and Connection.client() return it. Requests and replies have the
    message types given there. Every timeout is in seconds; waits let other threads of
    Python run, and Ctrl-C ends them.

    Its calls raise UsageError for a request of another type or size, or while another thread is in
    one of them, StoppedError after a stop, and OwnerGoneError after the other process has ended.
    """

    def __init__(
        self, raw: BytesClient, request: Codec, reply: Codec, kernel: BytesKernel | None = None
    ) -> None:
        self._raw = raw
        self._kernel = kernel  # whose client it is: kept where the garbage collector sees it
        self._request = request
        self._reply = reply

    def __repr__(self) -> str:
        return f"<carillon.Client of {self._request} to {self._reply}>"

    def call(self, request: Any, timeout: float = 1.0) -> Any:
        """Sends a request and waits for its reply.

        Raises TimeoutError; its `sent` says whether the request was sent and may still be served.
        """
        return self._raw.call_as(self._request, self._reply, request, timeout)

    def call_many(self, requests: Any, timeout: float = 1.0) -> Any:
        """Sends many requests while there is room, and returns their replies in the same order.

        A dtype takes and returns a one-dimensional array, a dataclass a list, and bytes one buffer
        of all messages in a row. Raises TimeoutError; replies that had come are then lost.
        """
        sent = self._request.encode_many(requests, "Client.call_many")
        count = memoryview(sent).nbytes // self._request.size
        replies = self._reply.room(count)
        self._raw.call_many(sent, replies, timeout)
        return self._reply.decode_many(replies)

    def submit(self, request: Any, timeout: float = 1.0) -> Ticket:
        """Sends a request; waits for room. Raises TimeoutError; the request was then not sent."""
        return self._raw.submit(self._request.encode(request, "Client.submit"), timeout)

    def try_submit(self, request: Any) -> Ticket | None:
        """Sends a request, or returns None at once if there is no room."""
        return self._raw.try_submit(self._request.encode(request, "Client.try_submit"))

    def try_submit_many(self, requests: Any) -> Tickets:
        """Sends the first of `requests`, as many as fit, with one fence.

        `requests` has the form that call_many() takes.
        """
        sent = self._request.encode_many(requests, "Client.try_submit_many")
        return self._raw.try_submit_n(sent)

    def wait(self, ticket: Ticket, timeout: float = 1.0) -> Any:
        """Waits for the reply to a request. Raises TimeoutError; the ticket then stays valid."""
        return self._reply.decode(self._raw.wait(ticket, timeout))

    def try_take(self, ticket: Ticket) -> Any:
        """The reply to a request, or None if it has not come.

        Raises UsageError for another client's ticket, and for a reply already taken or given up.
        """
        reply = self._raw.try_take(ticket)
        return None if reply is None else self._reply.decode(reply)

    def try_take_many(self, tickets: Tickets) -> Any:
        """The replies to the first of `tickets`, as many as have come; those tickets leave it.

        The replies have the form that call_many() returns.
        """
        _require(Tickets, "Client.try_take_many", "tickets", tickets)
        room = self._reply.room(len(tickets))
        taken = self._raw.try_take_n(tickets, room)
        return self._reply.decode_many(room[: taken * self._reply.size])

    def abandon(self, ticket: Ticket) -> None:
        """Gives a reply up: it is dropped on arrival.

        Raises UsageError for another client's ticket, and for a reply already taken or given up.
        """
        self._raw.abandon(ticket)

    async def call_async(self, request: Any, timeout: float = 1.0) -> Any:
        """call() for asyncio: the event loop runs meanwhile, and no thread is needed.

        It polls for the reply in each turn of the loop, after a while every millisecond.
        After a cancellation or a TimeoutError, the reply is dropped on arrival.
        """
        data = self._request.encode(request, "Client.call_async")
        deadline = asyncio.get_running_loop().time() + _seconds("Client.call_async", timeout)
        ticket = await self._look(lambda: self._raw._submit_async(data), deadline)
        if ticket is None:
            ticket = self._raw._submit_async_or_raise(data, 0.0)  # the error says what has the room
        try:
            reply = await self._look(lambda: self._raw._take_async(ticket), deadline)
            if reply is None:
                cause = (
                    "no reply came before the timeout; the request was sent and may still be served"
                )
                raise _made(TimeoutError, "Client.call_async", cause, sent=True)
        except BaseException:  # GeneratorExit too: of a coroutine that is closed
            self._raw._give_up(ticket)
            raise
        return self._reply.decode(reply)

    @staticmethod
    async def _look(poll: Callable[[], Any], deadline: float) -> Any:
        """The first result of `poll` that is not None; None after the deadline."""
        loop = asyncio.get_running_loop()
        polls = 0
        while (found := poll()) is None:
            if loop.time() >= deadline:
                return None
            polls += 1
            await asyncio.sleep(0 if polls < _POLLS_AT_ONCE else _LONGEST_SLEEP)
        return found

    def warm(self) -> None:
        """Brings the data of a call into the caches, for a loop that waits for an event."""
        self._raw.warm()

    @property
    def capacity(self) -> int:
        """The most outstanding requests."""
        return self._raw.capacity

    @property
    def all_answered(self) -> bool:
        """Whether the kernel has answered every request."""
        return self._raw.all_answered

    @property
    def counters(self) -> ChannelCounters:
        """The traffic counters of the client's channel."""
        return self._raw.counters


__all__ = ["Client"]
