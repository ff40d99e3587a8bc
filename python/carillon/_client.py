# SPDX-License-Identifier: Apache-2.0
"""Clients of kernels: of this process's, and of others'."""

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

    PersistentKernel.client() and Connection.client() give it. Requests and replies are of the
    message types that were given there. Every timeout is in seconds; waits let other threads of
    Python run, and Ctrl-C ends them.

    Its calls raise UsageError for a request of another type or size, and where another thread is in
    one of them; StoppedError after a stop; OwnerGoneError when the other process has ended.
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

        Raises TimeoutError, whose `sent` says whether the request was sent: it may be served still.
        """
        return self._raw.call_as(self._request, self._reply, request, timeout)

    def call_many(self, requests: Any, timeout: float = 1.0) -> Any:
        """Sends many requests, as room comes, and returns their replies in the same order.

        Of dtypes a one-dimensional array each way, of dataclasses lists, of bytes one behind the
        other. Raises TimeoutError: replies that had come are lost then.
        """
        sent = self._request.encode_many(requests, "Client.call_many")
        count = memoryview(sent).nbytes // self._request.size
        replies = self._reply.room(count)
        self._raw.call_many(sent, replies, timeout)
        return self._reply.decode_many(replies)

    def submit(self, request: Any, timeout: float = 1.0) -> Ticket:
        """Sends a request, waiting for room. Raises TimeoutError; it was not sent then."""
        return self._raw.submit(self._request.encode(request, "Client.submit"), timeout)

    def try_submit(self, request: Any) -> Ticket | None:
        """Sends a request, or returns None at once where there is no room."""
        return self._raw.try_submit(self._request.encode(request, "Client.try_submit"))

    def try_submit_many(self, requests: Any) -> Tickets:
        """Sends the first ones of `requests`, as many as there is room for, with one fence."""
        sent = self._request.encode_many(requests, "Client.try_submit_many")
        return self._raw.try_submit_n(sent)

    def wait(self, ticket: Ticket, timeout: float = 1.0) -> Any:
        """The reply to a request. Raises TimeoutError: the ticket is still good then."""
        return self._reply.decode(self._raw.wait(ticket, timeout))

    def try_take(self, ticket: Ticket) -> Any:
        """The reply to a request, or None while it has not come."""
        reply = self._raw.try_take(ticket)
        return None if reply is None else self._reply.decode(reply)

    def try_take_many(self, tickets: Tickets) -> Any:
        """The replies to the first ones of `tickets`, as many as have come; those leave it."""
        _require(Tickets, "Client.try_take_many", "tickets", tickets)
        room = self._reply.room(len(tickets))
        taken = self._raw.try_take_n(tickets, room)
        return self._reply.decode_many(room[: taken * self._reply.size])

    def abandon(self, ticket: Ticket) -> None:
        """Gives a reply up: it is dropped when it comes.

        Raises UsageError for a ticket of another client, and of a reply that was taken or given up.
        """
        self._raw.abandon(ticket)

    async def call_async(self, request: Any, timeout: float = 1.0) -> Any:
        """call() for asyncio: the event loop goes on meanwhile, and no thread is needed.

        It looks for the reply whenever the loop comes round, after a while every millisecond.
        Cancelled or closed, or after a TimeoutError, the reply is dropped when it comes.
        """
        data = self._request.encode(request, "Client.call_async")
        deadline = asyncio.get_running_loop().time() + _seconds("Client.call_async", timeout)
        ticket = await self._look(lambda: self._raw._submit_async(data), deadline)
        if ticket is None:
            ticket = self._raw._submit_async_or_raise(data, 0.0)  # the error says what has the room
        try:
            reply = await self._look(lambda: self._raw._take_async(ticket), deadline)
            if reply is None:
                raise _made(TimeoutError, "Client.call_async", "no reply came", sent=True)
        except BaseException:  # GeneratorExit too: of a coroutine that is closed
            self._raw._give_up(ticket)
            raise
        return self._reply.decode(reply)

    @staticmethod
    async def _look(poll: Callable[[], Any], deadline: float) -> Any:
        """What `poll` returns that is not None; None when the time is over."""
        loop = asyncio.get_running_loop()
        polls = 0
        while (found := poll()) is None:
            if loop.time() >= deadline:
                return None
            polls += 1
            await asyncio.sleep(0 if polls < _POLLS_AT_ONCE else _LONGEST_SLEEP)
        return found

    def warm(self) -> None:
        """Brings what a call needs near: for the loop that waits for the next event."""
        self._raw.warm()

    @property
    def capacity(self) -> int:
        """How many requests have room."""
        return self._raw.capacity

    @property
    def all_answered(self) -> bool:
        """Whether the kernel has answered every request."""
        return self._raw.all_answered

    @property
    def counters(self) -> ChannelCounters:
        """What has gone through its channel."""
        return self._raw.counters


__all__ = ["Client"]
