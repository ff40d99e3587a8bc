# SPDX-License-Identifier: Apache-2.0
"""Messages between Python's values and bytes.

A message type is a NumPy dtype (or what numpy.dtype takes), a dataclass of scalars, or a number of
bytes. It has 1 to 1024 bytes (a mailbox's value to 4096, what goes beside a chunk to 40) and is laid
out as a C struct of the same members.
"""

from __future__ import annotations

import dataclasses
import operator
import struct
import typing
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from .errors import UsageError

_SCALARS: dict[object, str] = {int: "<i8", float: "<f8", bool: "?"}


class Codec(Protocol):
    """Turns values of one message type into bytes and back."""

    size: int
    """Bytes of a message."""

    def encode(self, value: Any) -> bytes:
        """The bytes of one message. Raises UsageError for a value of another type."""

    def decode(self, data: bytes) -> Any:
        """The value of one message."""

    def encode_many(self, values: Any) -> Any:
        """A buffer of several messages, one behind the other. Raises UsageError."""

    def room(self, count: int) -> Any:
        """A writable buffer for `count` messages."""

    def decode_many(self, room: Any) -> Any:
        """The values in what room() gave."""


class BytesCodec:
    """Messages that stay bytes."""

    def __init__(self, size: int) -> None:
        self.size = size

    def encode(self, value: Any) -> bytes:
        return value if isinstance(value, bytes) else bytes(memoryview(value).cast("B"))

    def decode(self, data: bytes) -> bytes:
        return data

    def encode_many(self, values: Any) -> Any:
        return values

    def room(self, count: int) -> bytearray:
        return bytearray(count * self.size)

    def decode_many(self, room: bytearray) -> bytes:
        return bytes(room)


class ArrayCodec:
    """Messages of a NumPy dtype: scalars of it, or tuples and numbers that make one."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        if dtype.hasobject:
            raise UsageError(f"message type: {dtype} holds objects of Python's")
        self.dtype = dtype
        self.size = dtype.itemsize
        layout = _struct_format(dtype)
        self._struct = None if layout is None else struct.Struct(layout)

    def _check(self, dtype: np.dtype[Any]) -> None:
        if dtype != self.dtype:
            raise UsageError(f"message: it is of dtype {dtype}, not {self.dtype}")

    def encode(self, value: Any) -> bytes:
        if type(value) is np.void and value.dtype is self.dtype:
            return value.tobytes()  # what most have, and the fewest looks
        if type(value) is tuple and self._struct is not None:
            try:
                return self._struct.pack(*value)
            except (struct.error, OverflowError):
                pass  # NumPy converts it, or says what is wrong
        if not isinstance(value, (np.ndarray, np.generic)):
            return np.array(value, self.dtype).tobytes()
        self._check(value.dtype)
        return value.tobytes()

    def decode(self, data: bytes) -> Any:
        return np.frombuffer(data, self.dtype)[0]

    def encode_many(self, values: Any) -> np.ndarray:
        array = (
            np.asarray(values) if isinstance(values, np.ndarray) else np.array(values, self.dtype)
        )
        self._check(array.dtype)
        if array.ndim != 1:
            raise UsageError(f"messages: an array of {array.ndim} dimensions, not of one")
        return np.ascontiguousarray(array).view(np.uint8) if len(array) else np.empty(0, np.uint8)

    def room(self, count: int) -> np.ndarray:
        return np.empty(count * self.size, np.uint8)

    def decode_many(self, room: np.ndarray) -> np.ndarray:
        return room.view(self.dtype)


def _struct_format(dtype: np.dtype[Any]) -> str | None:
    """The layout of numbers side by side for `struct`, with padding spelt out; None of anything
    else."""
    text, end = "=", 0
    for name in dtype.names or ():
        member, offset = dtype.fields[name][:2]  # type: ignore[index]
        code = _STRUCT_CODES.get(member.str[1:]) if member.isnative else None
        if code is None or offset < end:
            return None
        text += f"{offset - end}x{code}"
        end = offset + member.itemsize
    return text + f"{dtype.itemsize - end}x" if dtype.names else None


def _member(owner: type, name: str, hint: Any) -> str:
    """The dtype of a dataclass's member, as text."""
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[1]
    try:
        dtype = np.dtype(_SCALARS.get(hint, hint))
    except TypeError:
        dtype = np.dtype(object)
    if not dtype.isnative or dtype.str[1:] not in _STRUCT_CODES:
        raise UsageError(
            f"message type: {owner.__name__}.{name} is of {hint!r}; members are int, float, bool "
            "or scalars of NumPy's, of at most 8 bytes and in this machine's order, or "
            'Annotated[int, "u4"]; anything else is a dtype'
        )
    return str(dtype.str)


class DataclassCodec:
    """Messages that are instances of a dataclass."""

    def __init__(self, owner: type) -> None:
        hints = typing.get_type_hints(owner, include_extras=True)
        self.names = [field.name for field in dataclasses.fields(owner)]
        members = [(name, _member(owner, name, hints[name])) for name in self.names]
        self.owner = owner
        self.dtype = np.dtype(members, align=True)
        self.size = self.dtype.itemsize
        # Of the members that there are each has a code.
        self._struct = struct.Struct(_struct_format(self.dtype) or "")
        self._members: Callable[[Any], tuple[Any, ...]] = (
            operator.attrgetter(*self.names)
            if len(self.names) > 1
            else lambda value: tuple(getattr(value, name) for name in self.names)
        )

    def encode(self, value: Any) -> bytes:
        if not isinstance(value, self.owner):
            raise UsageError(
                f"message: it is a {type(value).__name__}, not a {self.owner.__name__}"
            )
        try:
            return self._struct.pack(*self._members(value))
        except struct.error as error:
            raise UsageError(f"message: {self.owner.__name__}: {error}") from None

    def decode(self, data: bytes) -> Any:
        return self.owner(*self._struct.unpack(data))

    def encode_many(self, values: Any) -> bytes:
        return b"".join([self.encode(value) for value in values])

    def room(self, count: int) -> bytearray:
        return bytearray(count * self.size)

    def decode_many(self, room: bytearray) -> list[Any]:
        return [self.owner(*members) for members in self._struct.iter_unpack(room)]


_STRUCT_CODES = {
    "i1": "b",
    "i2": "h",
    "i4": "i",
    "i8": "q",
    "u1": "B",
    "u2": "H",
    "u4": "I",
    "u8": "Q",
    "f2": "e",
    "f4": "f",
    "f8": "d",
    "b1": "?",
}


def codec(message: Any, most: int = 1024) -> Codec:
    """The codec of a message type of at most `most` bytes. Raises UsageError for what is none."""
    if isinstance(message, int) and not isinstance(message, bool):
        if not 1 <= message <= most:
            raise UsageError(f"message type: a message has 1 to {most} bytes, not {message}")
        return BytesCodec(message)
    if isinstance(message, type) and dataclasses.is_dataclass(message):
        return DataclassCodec(message)
    try:
        return ArrayCodec(np.dtype(message))
    except TypeError:
        raise UsageError(
            f"message type: {message!r} is neither a number of bytes nor a dtype nor a dataclass"
        ) from None
