# SPDX-License-Identifier: Apache-2.0
"""Messages between Python's values and bytes.

A message type is a NumPy dtype (or what numpy.dtype takes), a dataclass of scalars, or a number of
bytes. It has 1 to 1024 bytes (a mailbox's value to 4096, what goes beside a chunk to 40) and is laid
out as a C struct of the same members.

A codec has MessageCodec's encode() and decode() of one message, which call _to_bytes() and
_from_bytes() for what only Python can do, and for many messages one behind the other:
encode_many(values), a buffer of them; room(count), a writable one; decode_many(room), the values in
that. They raise UsageError for values of another dtype or class, and what Python and NumPy raise for
what is no buffer or no number.
"""

from __future__ import annotations

import dataclasses
import struct
import typing
from typing import Any

import numpy as np

from ._carillon import BytesMessages, DataclassMessages, RecordMessages
from .errors import UsageError

_SCALARS: dict[object, str] = {int: "<i8", float: "<f8", bool: "?"}


class BytesCodec(BytesMessages):
    """Messages that stay bytes."""

    def encode_many(self, values: Any) -> Any:
        return values

    def room(self, count: int) -> Any:
        return bytearray(count * self.size)

    def decode_many(self, room: Any) -> bytes:
        return bytes(room)


class ArrayCodec(RecordMessages):
    """Messages of a NumPy dtype: scalars of it, or tuples and numbers that make one."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        super().__init__(dtype, _native(_members(dtype)))
        self.dtype = dtype

    def _check(self, dtype: np.dtype[Any]) -> None:
        if dtype != self.dtype:
            raise UsageError(f"message: it is of dtype {dtype}, not {self.dtype}")

    def _to_bytes(self, value: Any) -> bytes:
        if not isinstance(value, (np.ndarray, np.generic)):
            return np.array(value, self.dtype).tobytes()
        self._check(value.dtype)
        return value.tobytes()

    def encode_many(self, values: Any) -> Any:
        array = (
            np.asarray(values) if isinstance(values, np.ndarray) else np.array(values, self.dtype)
        )
        self._check(array.dtype)
        if array.ndim != 1:
            raise UsageError(f"messages: an array of {array.ndim} dimensions, not of one")
        return np.ascontiguousarray(array).view(np.uint8) if len(array) else np.empty(0, np.uint8)

    def room(self, count: int) -> Any:
        return np.empty(count * self.size, np.uint8)

    def decode_many(self, room: Any) -> Any:
        return room.view(self.dtype)


def _members(dtype: np.dtype[Any]) -> list[tuple[int, str]]:
    """Where its numbers are, and what `struct` calls their types; nothing where it has others, or
    members that share bytes."""
    if dtype.names is None:
        code = _STRUCT_CODES.get(dtype.str[1:]) if dtype.isnative else None
        return [] if code is None else [(0, code)]
    found, end = [], 0
    for name in dtype.names:
        member, offset = dtype.fields[name][:2]  # type: ignore[index]
        code = _STRUCT_CODES.get(member.str[1:]) if member.isnative else None
        if code is None or offset < end:
            return []
        found.append((offset, code))
        end = offset + member.itemsize
    return found


def _native(members: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The same where the extension knows all their types: it has no floats of two bytes."""
    return [] if any(code == "e" for _, code in members) else members


def _struct_of(dtype: np.dtype[Any]) -> struct.Struct:
    """The same layout, of a dtype whose members are numbers, for `struct`, with padding spelt out."""
    text, end = "=", 0
    for offset, code in _members(dtype):
        text += f"{offset - end}x{code}"
        end = offset + struct.calcsize(f"={code}")
    return struct.Struct(text + f"{dtype.itemsize - end}x")


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


class DataclassCodec(DataclassMessages):
    """Messages that are instances of a dataclass."""

    def __init__(self, owner: type) -> None:
        hints = typing.get_type_hints(owner, include_extras=True)
        self.names = [field.name for field in dataclasses.fields(owner)]
        members = [(name, _member(owner, name, hints[name])) for name in self.names]
        self.owner = owner
        self.dtype = np.dtype(members, align=True)
        self._struct = _struct_of(self.dtype)
        super().__init__(self.dtype.itemsize, owner, self.names, _native(_members(self.dtype)))

    def _to_bytes(self, value: Any) -> bytes:
        if not isinstance(value, self.owner):
            raise UsageError(
                f"message: it is a {type(value).__name__}, not a {self.owner.__name__}"
            )
        try:
            return self._struct.pack(*[getattr(value, name) for name in self.names])
        except struct.error as error:
            raise UsageError(f"message: {self.owner.__name__}: {error}") from None

    def _from_bytes(self, data: bytes) -> Any:
        return self.owner(*self._struct.unpack(data))

    def encode_many(self, values: Any) -> Any:
        return b"".join([self.encode(value) for value in values])

    def room(self, count: int) -> Any:
        return bytearray(count * self.size)

    def decode_many(self, room: Any) -> list[Any]:
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


Codec = BytesCodec | ArrayCodec | DataclassCodec


def codec(message: Any, most: int = 1024) -> Codec:
    """The codec of a message type. Raises UsageError for what is none.

    A number of bytes is at most `most`; whoever takes the others' messages says how long they may be.
    """
    if isinstance(message, int) and not isinstance(message, bool):
        if not 1 <= message <= most:
            raise UsageError(f"message type: a message has 1 to {most} bytes, not {message}")
        return BytesCodec(message)
    if isinstance(message, type) and dataclasses.is_dataclass(message):
        return DataclassCodec(message)
    try:
        dtype = np.dtype(message)
    except TypeError:
        raise UsageError(
            f"message type: {message!r} is neither a number of bytes nor a dtype nor a dataclass"
        ) from None
    if dtype.hasobject:
        raise UsageError(f"message type: {dtype} holds objects of Python's")
    if dtype.subdtype is not None:
        raise UsageError(f"message type: {dtype} is an array, which only a member may be")
    return ArrayCodec(dtype)
