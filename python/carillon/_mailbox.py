# SPDX-License-Identifier: Apache-2.0
"""Mailboxes: the latest value, between the CPU and a kernel."""

from __future__ import annotations

from typing import Any

from ._carillon import BytesMailbox, BytesMailboxEnd, Device
from ._codec import Codec, codec
from .errors import UsageError, _made

MOST_BYTES = 4096


class MailboxDeviceEnd:
    """The device's end of a mailbox, on the emulated device."""

    def __init__(self, raw: BytesMailboxEnd, value: Codec) -> None:
        self._raw = raw
        self._value = value

    def __repr__(self) -> str:
        return f"<carillon.MailboxDeviceEnd of {self._value}>"

    def set(self, value: Any) -> None:
        """Sets the value. For a mailbox to the host."""
        self._raw.set(self._value.encode(value, "MailboxDeviceEnd.set"))

    def refresh(self) -> Any:
        """The newest value, or None if it was read before. For a mailbox to the device."""
        room = bytearray(self._value.size)
        return self._value.decode(room) if self._raw.refresh(room) else None


class Mailbox:
    """The host's end of a mailbox. `value` is a dtype, a dataclass or a number of bytes up to 4096.

    `initial` is the first value; `direction` is "to_device" or "to_host". Neither end ever waits,
    and a reader may miss values. Its calls raise UsageError for a value of another type and for the
    other direction. `capacity`: the number of values in memory at once, a power of two from 2 to
    2^20; slow readers of large values need more.
    """

    def __init__(
        self,
        device: Device,
        value: Any,
        initial: Any,
        direction: str = "to_device",
        *,
        capacity: int = 4,
    ) -> None:
        self._value = codec(value, "Mailbox", MOST_BYTES)
        self._raw = BytesMailbox(device, self._encoded(initial), direction, capacity)

    @classmethod
    def _of(cls, raw: BytesMailbox, value: Codec) -> Mailbox:
        mailbox = cls.__new__(cls)
        mailbox._value = value
        mailbox._raw = raw
        return mailbox

    def __repr__(self) -> str:
        return f"<carillon.Mailbox of {self._value}>"

    def _encoded(self, initial: Any) -> bytes:
        data = self._value.encode(initial, "Mailbox")
        if len(data) != self._value.size:
            raise _made(
                UsageError, "Mailbox", f"initial has {len(data)} bytes, not {self._value.size}"
            )
        return data

    def set(self, value: Any) -> None:
        """Sets the value.

        For a mailbox of another process, raises OwnerGoneError if that process has ended, and
        StoppedError if it has destroyed the mailbox.
        """
        self._raw.set(self._value.encode(value, "Mailbox.set"))

    def refresh(self) -> Any:
        """The newest value, or None if it was read before. Raises as set()."""
        room = bytearray(self._value.size)
        return self._value.decode(room) if self._raw.refresh(room) else None

    def emulated_end(self) -> MailboxDeviceEnd:
        """The device's end: one that sets can be given once, one that reads any number of times.

        Raises UnsupportedError on a GPU, UsageError for a second end that sets.
        """
        return MailboxDeviceEnd(self._raw.emulated_end(), self._value)


__all__ = ["Mailbox", "MailboxDeviceEnd"]
