# SPDX-License-Identifier: Apache-2.0
"""Rings between the CPU and the program's own kernel: one direction, one type."""

from __future__ import annotations

from typing import Any

from ._carillon import BytesDeviceEnd, BytesRing, Device, _number
from ._codec import Codec, codec


class RingDeviceEnd:
    """The device's end of a ring on the emulated device, for a thread that replaces a kernel."""

    def __init__(self, raw: BytesDeviceEnd, message: Codec) -> None:
        self._raw = raw
        self._message = message

    def __repr__(self) -> str:
        return f"<carillon.RingDeviceEnd of {self._message}>"

    def try_push(self, message: Any) -> bool:
        """Publishes, or returns False at once if the ring is full. For a ring to the host."""
        return self._raw.try_push(self._message.encode(message, "RingDeviceEnd.try_push"))

    def try_pop(self) -> Any:
        """The next message, or None. For a ring to the device."""
        room = bytearray(self._message.size)
        return self._message.decode(room) if self._raw.try_pop(room) else None


class Ring:
    """The host's end of a ring. `message` is a dtype, a dataclass or a number of bytes.

    `direction` is "to_device" or "to_host"; `capacity` is the number of slots, a power of two from
    2 to 2^20. One thread at a time. Its calls raise UsageError for a message of another type, for
    the other direction, and while another thread is in one of them. A ring of another process also
    raises OwnerGoneError and StoppedError. Timeouts are in seconds.
    """

    def __init__(
        self, device: Device, message: Any, direction: str = "to_device", *, capacity: int = 256
    ) -> None:
        self._message = codec(message, "Ring")
        self._raw = BytesRing(device, self._message.size, direction, capacity)

    @classmethod
    def _of(cls, raw: BytesRing, message: Codec) -> Ring:
        ring = cls.__new__(cls)
        ring._message = message
        ring._raw = raw
        return ring

    def __repr__(self) -> str:
        return f"<carillon.Ring of {self._message}, {self.capacity} slots>"

    def push(self, message: Any, timeout: float = 1.0) -> None:
        """Publishes; waits for room. Raises TimeoutError; the message was then not sent."""
        self._raw.push(self._message.encode(message, "Ring.push"), timeout)

    def try_push(self, message: Any) -> bool:
        """Publishes, or returns False at once if the ring is full."""
        return self._raw.try_push(self._message.encode(message, "Ring.try_push"))

    def try_push_many(self, messages: Any) -> int:
        """Publishes the first of `messages`, as many as fit, with one fence; returns how many.

        `messages` has the form that Client.call_many() takes.
        """
        return self._raw.try_push_n(self._message.encode_many(messages, "Ring.try_push_many"))

    def pop(self, timeout: float = 1.0) -> Any:
        """The next message. Raises TimeoutError."""
        room = bytearray(self._message.size)
        self._raw.pop(room, timeout)
        return self._message.decode(room)

    def try_pop(self) -> Any:
        """The next message, or None if none has arrived."""
        room = bytearray(self._message.size)
        return self._message.decode(room) if self._raw.try_pop(room) else None

    def try_pop_many(self, count: int) -> Any:
        """The messages that have arrived, up to `count`, in the form that call_many() returns."""
        most = _number("Ring.try_pop_many", "count", count)
        room = self._message.room(min(most, self.capacity))
        taken = self._raw.try_pop_n(room)
        return self._message.decode_many(room[: taken * self._message.size])

    def emulated_end(self) -> RingDeviceEnd:
        """The device's end, once. Raises UnsupportedError on a GPU, UsageError the second time."""
        return RingDeviceEnd(self._raw.emulated_end(), self._message)

    @property
    def capacity(self) -> int:
        """The number of slots."""
        return self._raw.capacity


__all__ = ["Ring", "RingDeviceEnd"]
