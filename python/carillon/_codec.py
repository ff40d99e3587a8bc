# SPDX-License-Identifier: Apache-2.0
"""Messages between Python's values and bytes.

A message type is a NumPy dtype (or an argument of numpy.dtype), a dataclass of scalars or a number of
bytes. It has 1 to 1024 bytes (a mailbox's value up to 4096, a chunk's metadata up to 40) and the
layout of a C struct with the same members.

A codec has MessageCodec's encode() and decode() of one message, which call _to_bytes() and
_from_bytes() for the parts in Python, and for many messages in a row:
encode_many(values), a buffer of them; room(count), a writable one; decode_many(room), the values in
that. They never convert silently: they raise UsageError for a value of another dtype or
class, for a number that its member cannot hold, and for a wrong number of values;
and Python's own error for an object that is not a buffer.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
import operator
import re
import struct
import typing
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import errors
from ._carillon import BytesMessages, DataclassMessages, RecordMessages
from .errors import ArgumentTypeError, UsageError, _made

_MOST = 4096  # bytes of a mailbox's value
_DOUBLE = struct.Struct("d")
_LONG_DOUBLE = np.dtype(np.longdouble)
_IN_LONG_DOUBLE = 10 if np.finfo(_LONG_DOUBLE).nmant == 63 else _LONG_DOUBLE.itemsize  # bytes
Gaps = list[tuple[int, int]]  # where bytes that no member has begin, and how many they are
_ISO_8601 = re.compile(
    "NaT|[0-9]{4}(-[0-9]{2}(-[0-9]{2}([T ][0-9]{2}(:[0-9]{2}(:[0-9]{2}([.][0-9]{1,18})?)?)?)?)?)?"
)
_SCALARS: dict[object, str] = {int: "<i8", float: "<f8", bool: "?"}


class BytesCodec(BytesMessages):
    """Messages that stay bytes."""

    def __repr__(self) -> str:
        return f"{self.size} bytes"

    def encode_many(self, values: Any, call: str = "message") -> Any:
        return values

    def room(self, count: int) -> Any:
        return bytearray(count * self.size)

    def decode_many(self, room: Any) -> bytes:
        return bytes(room)


class OfScalar:
    """An object that stands for its NumPy scalar."""

    __slots__ = ("_scalar",)
    _scalar: Any


class ArrayCodec(RecordMessages):
    """Messages of a NumPy dtype: scalars of it, a tuple or list of its members, or a number."""

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self._gaps = gaps_of(dtype)
        self._gaps_within = _within_members(dtype, self._gaps)
        super().__init__(dtype, _native(_members(dtype)), self._gaps)
        self.dtype = dtype

    def __repr__(self) -> str:
        return str(self.dtype)

    def _check(self, given: np.ndarray | np.generic, call: str) -> None:
        if isinstance(given, np.ma.MaskedArray):
            raise _made(UsageError, call, "the message is a masked array")
        if given.dtype != self.dtype:
            same_names = given.dtype.names == self.dtype.names
            wanted = str(self.dtype) if same_names else _shown(self.dtype)
            cause = f"the message is of dtype {given.dtype}, not {wanted}"
            raise _made(UsageError, call, cause)

    def _to_bytes(self, value: Any) -> bytes:
        if isinstance(value, OfScalar):
            value = value._scalar
        if not isinstance(value, (np.ndarray, np.generic)) or self._is_number(value):
            return packed(self.dtype, self._gaps_within, value)
        self._check(value, "message")
        if value.size != 1:
            raise _made(UsageError, "message", f"the array has {value.size} messages, not one")
        return cleared(value.tobytes(), self.size, self._gaps)

    def _is_number(self, value: np.ndarray | np.generic) -> bool:
        """Whether it is a number or text of another dtype that this dtype may be able to hold."""
        return self.dtype.names is None and value.ndim == 0 and value.dtype != self.dtype

    def encode_many(self, values: Any, call: str = "message") -> Any:
        if not isinstance(values, np.ndarray):
            return self._row(values, call)
        self._check(values, call)
        if values.ndim != 1:
            raise _made(UsageError, call, f"the array has {values.ndim} dimensions, not one")
        if self._gaps:
            return cleared(values.tobytes(), self.size, self._gaps)
        return np.ascontiguousarray(values).view(np.uint8) if len(values) else np.empty(0, np.uint8)

    def room(self, count: int) -> Any:
        return np.empty(count * self.size, np.uint8)

    def decode_many(self, room: Any) -> Any:
        return room.view(self.dtype)


def _shown(dtype: np.dtype[Any]) -> str:
    """The names of its members, or its own name."""
    return str(dtype) if dtype.names is None else f"({', '.join(dtype.names)})"


def _refused(kind: type[UsageError], where: str, value: Any, wanted: str) -> UsageError:
    return errors._refused(kind, "message", where or "the message", value, wanted)


def _items(value: Any, count: int, where: str, wanted: str) -> list[Any]:
    """The items of a tuple or list of `count`."""
    if not isinstance(value, (tuple, list)):
        raise _refused(ArgumentTypeError, where, value, wanted)
    if len(value) != count:
        raise _refused(UsageError, where, value, wanted)
    return list(value)


def _whole(dtype: np.dtype[Any], value: Any, where: str) -> Any:
    most = np.iinfo(dtype)
    wanted = f"a whole number from {most.min} to {most.max}"
    try:
        number = operator.index(value)
    except TypeError:
        raise _refused(ArgumentTypeError, where, value, wanted) from None
    if not most.min <= number <= most.max:
        raise _refused(UsageError, where, value, wanted)
    return number


def _real(dtype: np.dtype[Any], value: Any, where: str) -> Any:
    try:
        if isinstance(value, (np.ndarray, np.generic)) and (
            value.ndim or value.dtype.kind not in "iufb"
        ):
            raise struct.error  # NumPy makes a number of a text, and drops an imaginary part
        known = isinstance(value, np.longdouble)  # of which a double holds a part
        number = value if known else _DOUBLE.unpack(_DOUBLE.pack(value))[0]
    except (struct.error, OverflowError):
        raise _refused(ArgumentTypeError, where, value, "a number") from None
    if abs(number) > float(np.finfo(dtype).max) and not np.isinf(number):
        raise _refused(UsageError, where, value, f"a number that a {dtype} can hold")
    return number


def _text(dtype: np.dtype[Any], value: Any, where: str) -> Any:
    """A text of bytes or characters; zeros fill up a shorter one."""
    most = dtype.itemsize // (4 if dtype.kind == "U" else 1)
    kinds: tuple[type, ...] = (str,) if dtype.kind == "U" else (bytes, bytearray, str)
    unit = "characters" if dtype.kind == "U" else "bytes"
    if not isinstance(value, kinds) or (dtype.kind == "V" and isinstance(value, str)):
        raise _refused(ArgumentTypeError, where, value, f"at most {most} {unit}")
    if dtype.kind != "U" and isinstance(value, str) and not value.isascii():
        raise _refused(UsageError, where, value, "ASCII text or bytes")
    given: Any = value  # mypy has forgotten its type
    if len(given) > most:
        raise _refused(UsageError, where, value, f"at most {most} {unit}")
    return bytes(given) if isinstance(value, bytearray) else given


def _truth(dtype: np.dtype[Any], value: Any, where: str) -> Any:
    if not isinstance(value, (bool, np.bool_)):
        raise _refused(ArgumentTypeError, where, value, "True or False")
    return value


def _complex(dtype: np.dtype[Any], value: Any, where: str) -> Any:
    found = np.asarray(value)
    if found.ndim or not np.can_cast(found.dtype, dtype, "same_kind"):
        raise _refused(ArgumentTypeError, where, value, "a number")
    for part in (found[()].real, found[()].imag):
        _real(np.zeros((), dtype).real.dtype, part, where)
    return found[()]


def _duration(dtype: np.dtype[Any], number: int, where: str) -> int:
    """A number of 64 bits; the lowest is NumPy's "not a time"."""
    if not -(1 << 63) < number < 1 << 63:
        raise _refused(UsageError, where, number, f"a time that a {dtype} can hold")
    return number


def _time(dtype: np.dtype[Any], value: Any, where: str) -> Any:
    """A point in time may be ISO 8601 text; a duration may be a whole number."""
    is_text = isinstance(value, str) and dtype.kind == "M"
    if is_text and not _ISO_8601.fullmatch(value):  # NumPy takes "" and "today", and drops zones
        raise _refused(UsageError, where, value, f"a {dtype}: YYYY-MM-DDThh:mm:ss or a part of it")
    try:
        found = np.asarray(np.datetime64(value) if is_text else value)
        if found.dtype.kind in "iu" and not found.ndim:
            found = np.array(_duration(dtype, int(found), where))
        known = found.dtype.kind in "mMi" and np.can_cast(found.dtype, dtype, "same_kind")
        made = found.astype(dtype)[()] if known and not found.ndim else None
    except (ValueError, OverflowError):
        raise _refused(UsageError, where, value, f"a {dtype}") from None
    if made is None:
        raise _refused(ArgumentTypeError, where, value, f"a {dtype}")
    if made.astype(found.dtype).tobytes() != found.tobytes():
        raise _refused(UsageError, where, value, f"a time that a {dtype} can hold")
    return made


_LEAVES = {
    "i": _whole,
    "u": _whole,
    "f": _real,
    "c": _complex,
    "b": _truth,
    "S": _text,
    "U": _text,
    "V": _text,
    "M": _time,
    "m": _time,
}


def _require_order(names: tuple[str, ...], value: Any, where: str) -> None:
    """Raises UsageError for a named tuple with these names in another order."""
    given = tuple(getattr(value, "_fields", ()))
    if given != names and sorted(given) == sorted(names):
        order = f"({', '.join(given)}), but the members' order is ({', '.join(names)})"
        raise _made(UsageError, "message", f"the order of {where or 'the message'} is {order}")


def checked(dtype: np.dtype[Any], value: Any, where: str = "") -> Any:
    """The value in a form that NumPy stores unchanged. `where`: the member's name, for errors.

    Raises UsageError for a value that the dtype cannot hold unchanged.
    """
    if isinstance(value, OfScalar):
        value = value._scalar
    if isinstance(value, np.ma.MaskedArray):
        raise _refused(UsageError, where, value, "values without a mask")
    if (
        isinstance(value, (np.ndarray, np.void))
        and value.dtype == dtype.base
        and value.shape == dtype.shape
    ):
        return value
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        inner = np.dtype((base, shape[1:])) if len(shape) > 1 else base
        wanted = f"a tuple, list or array of {shape[0]} values"
        if isinstance(value, np.ndarray):
            is_of = f"an array of {value.dtype} and shape {value.shape}"
            cause = f"{where} is {is_of}: expected {wanted}, of {base} and shape {shape}"
            raise _made(ArgumentTypeError, "message", cause)
        items = _items(value, shape[0], where, wanted)
        return [checked(inner, item, f"{where}[{i}]") for i, item in enumerate(items)]
    if dtype.names is None:
        return _LEAVES[dtype.kind](dtype, value, where)
    count = f"a tuple or list of {len(dtype.names)} values"
    wanted = f"{count} {_shown(dtype)}, a record, or an array of that dtype"
    items = _items(value, len(dtype.names), where, wanted)
    _require_order(dtype.names, value, where)
    prefix = f"{where}." if where else ""
    return tuple(
        checked(dtype.fields[name][0], item, prefix + name)  # type: ignore[index]
        for name, item in zip(dtype.names, items)
    )


def packed(dtype: np.dtype[Any], gaps: Gaps, value: Any, where: str = "") -> bytes:
    """The bytes of a value, with zeros in its gaps. Raises as checked().

    `gaps`: the gaps within members, which NumPy copies with the member.
    """
    room = np.zeros((), dtype)
    room[()] = checked(dtype, value, where)
    return cleared(room.tobytes(), dtype.itemsize, gaps)


def _leaves(dtype: np.dtype[Any], at: int = 0) -> Iterator[tuple[int, int]]:
    """The begin and end of each member's bytes, nested members included."""
    if dtype.subdtype is not None:
        base, _ = dtype.subdtype
        for begin in range(at, at + dtype.itemsize, base.itemsize or 1):
            yield from _leaves(base, begin)
    elif dtype in (np.longdouble, np.clongdouble):
        for begin in range(at, at + dtype.itemsize, _LONG_DOUBLE.itemsize):
            yield begin, begin + _IN_LONG_DOUBLE
    elif dtype.names is None:
        yield at, at + dtype.itemsize
    else:
        for name in dtype.names:
            member, offset = dtype.fields[name][:2]  # type: ignore[index]
            yield from _leaves(member, at + offset)


def gaps_of(dtype: np.dtype[Any]) -> Gaps:
    if dtype.itemsize > _MOST:
        return []  # no message has so many bytes
    found, end = [], 0
    for begin, next_end in [*sorted(_leaves(dtype)), (dtype.itemsize, dtype.itemsize)]:
        if begin > end:
            found.append((end, begin - end))
        end = max(end, next_end)
    return found


def _within_members(dtype: np.dtype[Any], gaps: Gaps) -> Gaps:
    members = [(dtype, 0)] if dtype.fields is None else [each[:2] for each in dtype.fields.values()]
    return [
        (begin, count)
        for begin, count in gaps
        if any(begin < at + each.itemsize and begin + count > at for each, at in members)
    ]


def cleared(messages: bytes, size: int, gaps: Gaps) -> bytes:
    """Messages of `size` bytes, with zeros in the gaps of each."""
    if not gaps or not messages:
        return messages
    rows = np.frombuffer(bytearray(messages), np.uint8).reshape(-1, size)
    for begin, count in gaps:
        rows[:, begin : begin + count] = 0
    return rows.tobytes()


def _members(dtype: np.dtype[Any]) -> list[tuple[int, str]]:
    """The offsets of its numbers and the codes of `struct` for their types; empty with other members or
    overlapping ones."""
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
    """The members, or none if the extension lacks one of their types: two-byte floats."""
    return [] if any(code == "e" for _, code in members) else members


def _struct_of(dtype: np.dtype[Any]) -> struct.Struct:
    """The layout of a dtype of numbers, with explicit padding, for `struct`."""
    text, end = "=", 0
    for offset, code in _members(dtype):
        text += f"{offset - end}x{code}"
        end = offset + struct.calcsize(f"={code}")
    return struct.Struct(text + f"{dtype.itemsize - end}x")


def _member(call: str, owner: type, name: str, hint: Any) -> str:
    """The dtype of a dataclass's member, as text."""
    if typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[1]
    try:
        dtype = np.dtype(_SCALARS.get(hint, hint))
    except (TypeError, ValueError):
        dtype = np.dtype(object)
    if not dtype.isnative or dtype.str[1:] not in _STRUCT_CODES:
        raise _made(
            UsageError,
            call,
            f"{owner.__name__}.{name} is of {hint!r}: expected int, float, bool, a NumPy scalar "
            "of at most 8 bytes in this machine's byte order, or "
            'Annotated[int, "u4"]; use a dtype for other members',
        )
    return str(dtype.str)


def _hints(owner: type, call: str) -> dict[str, Any]:
    try:
        return typing.get_type_hints(owner, include_extras=True)
    except Exception as error:  # whatever the text of an annotation raises
        cause = f"cannot find the types of {owner.__name__}'s members: {error}"
        raise _made(UsageError, call, cause) from error


def _require_made_of(owner: type, names: list[str], call: str) -> None:
    """Requires that the constructor takes exactly the members, in their order."""
    signature = inspect.signature(owner)
    try:
        given = signature.bind(*names).arguments
    except TypeError:
        given = {}
    if given != {name: name for name in names}:
        members = ", ".join(names)
        cause = f"{owner.__name__}{signature} does not take its members ({members}) in their order"
        raise _made(UsageError, call, cause)


class DataclassCodec(DataclassMessages):
    """Messages that are instances of a dataclass."""

    def __init__(self, owner: type, call: str) -> None:
        hints = _hints(owner, call)
        self.names = [field.name for field in dataclasses.fields(owner)]
        _require_made_of(owner, self.names, call)
        members = [(name, _member(call, owner, name, hints[name])) for name in self.names]
        self.owner = owner
        self.dtype = np.dtype(members, align=True)
        self._struct = _struct_of(self.dtype)
        super().__init__(self.dtype.itemsize, owner, self.names, _native(_members(self.dtype)))

    def __repr__(self) -> str:
        return self.owner.__name__

    def _to_bytes(self, value: Any) -> bytes:
        kind: Any = type(value)
        if not isinstance(value, self.owner) or len(dataclasses.fields(kind)) > len(self.names):
            name = kind.__name__
            raise _made(
                ArgumentTypeError,
                "message",
                f"the message is a {name}, not a {self.owner.__name__}",
            )
        members = [getattr(value, name) for name in self.names]
        return packed(self.dtype, [], members, self.owner.__name__)

    def _from_bytes(self, data: bytes) -> Any:
        return self.owner(*self._struct.unpack(data))

    def encode_many(self, values: Any, call: str = "message") -> Any:
        return self._row(values, call)

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


def elements(call: str, dtype: Any) -> np.dtype[Any]:
    """The dtype of an array. Raises ArgumentTypeError for None, too, NumPy's float64."""
    try:
        if dtype is None:
            raise TypeError
        found: np.dtype[Any] = np.dtype(dtype)
    except (TypeError, ValueError):
        raise errors._refused(ArgumentTypeError, call, "dtype", dtype, "a dtype") from None
    return found


def extents(call: str, shape: Any) -> tuple[int, ...]:
    """The dimensions of an array. Raises UsageError."""
    try:
        found = tuple(map(operator.index, shape if hasattr(shape, "__iter__") else (shape,)))
    except TypeError:
        wanted = "a whole number or several"
        raise errors._refused(ArgumentTypeError, call, "shape", shape, wanted) from None
    if min(found, default=0) < 0:  # which NumPy takes for as many as there are
        raise errors._refused(UsageError, call, "shape", shape, "whole numbers from 0")
    return found


def array_over(call: str, memory: Any, dtype: Any, shape: Any, offset: int = 0) -> np.ndarray:
    """An array over a buffer; without a shape, over all of it. Raises UsageError, and
    ValueError if it does not fit."""
    kind = elements(call, dtype)
    if shape is None:
        return np.frombuffer(memory, kind, -1, offset)
    found = extents(call, shape)
    size = math.prod(found) * kind.itemsize
    room = memoryview(memory).nbytes
    if offset + size > room:
        cause = f"{found} of {kind} do not fit from byte {offset} on: there are {room} bytes"
        raise _made(UsageError, call, cause)
    return np.frombuffer(memory, kind, math.prod(found), offset).reshape(found)


Codec = BytesCodec | ArrayCodec | DataclassCodec


def codec(message: Any, call: str = "message type", most: int = 1024) -> Codec:
    """The codec of a message type that `call` was given. Raises UsageError for other objects.

    A number of bytes is at most `most`. Other messages are limited by their receiver.
    """
    try:
        size = None if isinstance(message, bool) else operator.index(message)
    except TypeError:
        size = None
    if size is not None:
        if not 1 <= size <= most:
            raise _made(UsageError, call, f"a message has 1 to {most} bytes, not {size}")
        return BytesCodec(size)
    if isinstance(message, type) and dataclasses.is_dataclass(message):
        return DataclassCodec(message, call)
    try:
        if message is None or isinstance(message, np.generic):
            raise TypeError  # NumPy takes None for float64, and a number for its own type
        dtype = np.dtype(message)
    except (TypeError, ValueError):
        raise _made(
            UsageError,
            call,
            f"{message!r} is not a number of bytes, a dtype or a dataclass",
        ) from None
    if dtype.itemsize == 0:
        raise _made(UsageError, call, f"a message has 1 to {most} bytes, but {dtype} has none")
    if dtype.hasobject:
        raise _made(UsageError, call, f"{dtype} holds Python objects")
    if dtype.subdtype is not None:
        raise _made(UsageError, call, f"{dtype} is an array, but only a member may be one")
    return ArrayCodec(dtype)
