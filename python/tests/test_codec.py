# SPDX-License-Identifier: Apache-2.0
"""Messages as values and as bytes."""

from __future__ import annotations

import dataclasses
import gc
import weakref
from typing import Annotated, Any

import numpy as np
import pytest

import carillon
from carillon._codec import codec

PAIR = np.dtype([("a", "<f8"), ("b", "<i4")], align=True)


@pytest.mark.parametrize(
    ("members", "values"),
    [
        ([("a", "<f8"), ("b", "<i4"), ("c", "?")], [(1, 2, True), (3.5, 1 << 20, False)]),
        ([("a", "u1"), ("b", "<i8"), ("c", "<f4")], [(1, 2, True), (True, 1 << 40, 0.5)]),
        ([("a", "<f8"), ("b", "<i4", 2), ("c", "?")], [(1, (2, 3), True), (3.5, [4, 5], False)]),
        ([("a", ">i4"), ("b", "<i8"), ("c", "<f4")], [(1, 2, True), (-7, -(1 << 40), 0.25)]),
    ],
)
@pytest.mark.parametrize("align", [True, False])
def test_tuples_are_what_numpy_makes_of_them(
    members: list[tuple], values: list[tuple], align: bool
) -> None:
    dtype = np.dtype(members, align=align)
    packed = codec(dtype)
    for value in values:
        assert packed.decode(packed.encode(value)) == np.array([value], dtype)[0]
    with pytest.raises(ValueError):
        packed.encode((1, 2))
    with pytest.raises((ValueError, OverflowError, TypeError)):
        packed.encode((1, "two", True))


@pytest.mark.parametrize(
    "dtype, value",
    [
        ("<f8", 1.5),
        ("<f4", 3),
        ("<f4", float("inf")),
        ("<i2", -7),
        ("<u8", (1 << 64) - 1),
        ("?", True),
        (">i4", 5),
        ("<f2", 0.5),
        ("S5", b"ab"),
        ("<M8[s]", "2026-11-25"),
        ("<c16", 1.5 + 2j),
    ],
)
def test_single_values_are_what_numpy_makes_of_them(dtype: Any, value: Any) -> None:
    kind = codec(dtype)
    data = kind.encode(value)
    assert data == np.array(value, dtype).tobytes()
    found, said = kind.decode(data), np.frombuffer(data, dtype)[0]
    assert np.array_equal(found, said) and type(found) is type(said)


def test_scalars_of_numpy() -> None:
    array = np.zeros((), PAIR)
    array["a"], array["b"] = 1.5, 3
    value = array[()]
    same = np.dtype([("a", "<f8"), ("b", "<i4")], align=True)  # another object
    for dtype in (PAIR, same):
        assert codec(dtype).encode(value) == value.tobytes()
        assert codec(dtype).encode(array) == value.tobytes()
    assert codec("<f8").encode(np.float64(1.5)) == np.float64(1.5).tobytes()
    for other in (np.float32(1.5), np.zeros(1, [("a", "<f8"), ("c", "<i4")])[0]):
        with pytest.raises(carillon.UsageError, match="message: the message is of dtype"):
            codec(PAIR).encode(other)


def test_decoded_records_are_ones_own() -> None:
    data = bytes(PAIR.itemsize)
    record = codec(PAIR).decode(data)
    record["b"] = 7
    assert record["b"] == 7 and data == bytes(PAIR.itemsize)
    assert codec(PAIR).decode(data)["b"] == 0
    kind = codec(PAIR)
    records = [kind.decode(np.array([(i, i)], PAIR).tobytes()) for i in range(1000)]
    del kind
    gc.collect()
    assert [record["b"] for record in records] == list(range(1000))


@dataclasses.dataclass
class Numbers:
    a: Annotated[int, "u1"]
    b: float
    c: Annotated[int, "i2"]
    d: bool
    e: Annotated[float, "f4"]


@dataclasses.dataclass
class Half:
    a: Annotated[float, "f2"]
    b: int


def test_dataclasses_are_what_numpy_makes_of_them() -> None:
    for value in (Numbers(200, 0.1, -3, True, 0.5), Half(0.25, -1)):
        kind = codec(type(value))
        record = np.zeros(1, kind.dtype)
        record[0] = dataclasses.astuple(value)
        assert kind.encode(value) == record.tobytes()
        assert kind.decode(kind.encode(value)) == value
        assert kind.decode_many(kind.encode_many([value] * 3)) == [value] * 3
        assert type(kind.decode(kind.encode(value)).b) is type(value.b)


@pytest.mark.parametrize(
    "value, text",
    [
        (Numbers(256, 0.1, 0, True, 0.5), "Numbers"),
        (Numbers(1, "one", 0, True, 0.5), "Numbers"),  # type: ignore[arg-type]
        (Numbers(1, 0.1, 0.5, True, 0.5), "Numbers"),  # type: ignore[arg-type]
        (Half(0.25, 0), "the message is a Half, not a Numbers"),
        ((1, 0.1, 0, True, 0.5), "the message is a tuple, not a Numbers"),
    ],
)
def test_dataclasses_that_are_refused(value: Any, text: str) -> None:
    with pytest.raises(carillon.UsageError, match=f"message: {text}"):
        codec(Numbers).encode(value)


class Interrupted:
    """A number that Ctrl-C meets."""

    def __float__(self) -> float:
        raise KeyboardInterrupt

    __index__ = __float__  # type: ignore[assignment]


@pytest.mark.parametrize(
    "message, value",
    [
        (PAIR, (Interrupted(), 1)),
        (PAIR, (1.0, Interrupted())),
        (Numbers, Numbers(1, Interrupted(), 0, True, 0.5)),  # type: ignore[arg-type]
    ],
)
def test_what_members_raise_is_not_lost(message: Any, value: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        codec(message).encode(value)


@pytest.mark.parametrize("message", [8, PAIR, Numbers])
@pytest.mark.parametrize("size", [0, 1, 4096])
def test_bytes_of_another_size_are_no_message(message: Any, size: int) -> None:
    with pytest.raises(carillon.UsageError, match=f"message: the message has {size} bytes, not"):
        codec(message).decode(bytes(size))


def test_what_is_no_message_type() -> None:
    with pytest.raises(carillon.UsageError, match="holds Python objects"):
        codec(np.dtype([("a", "O")]))
    with pytest.raises(carillon.UsageError, match="is an array"):
        codec(("<f4", 3))
    none: list[Any] = ["no dtype", None, {"a": "f8"}, 1.5, True, np.float64(8)]
    for message in none:
        with pytest.raises(carillon.UsageError, match="not a number"):
            codec(message)
    assert codec(np.int64(16)).size == 16 and codec(np.uint8(16)).encode(bytes(16)) == bytes(16)
    with pytest.raises(carillon.UsageError, match="1 to 1024 bytes, not 0"):
        codec(np.int64(0))
    with pytest.raises(carillon.UsageError, match="longer than any message"):
        codec("V5000").encode(np.zeros(1, "V5000")[0])


def test_a_codec_goes_with_its_dataclass() -> None:
    owner = dataclasses.make_dataclass("Owner", [("a", float)])
    owner.codec = codec(owner)  # type: ignore[attr-defined]
    gone = weakref.ref(owner)
    del owner
    gc.collect()
    assert gone() is None


def test_a_list_that_its_own_members_shorten() -> None:
    class Clears:
        def __float__(self) -> float:
            values.clear()
            return 1.0

    values: list[Any] = [Clears(), 2]
    with pytest.raises(IndexError):
        codec(PAIR).encode(values)


@dataclasses.dataclass
class TakesInitVar:
    scale: dataclasses.InitVar[int] = 1
    size: int = 0


@dataclasses.dataclass
class NeedsInitVar:
    size: int
    scale: dataclasses.InitVar[int]


@dataclasses.dataclass
class Swapped:
    a: int
    b: int

    def __init__(self, b: int, a: int) -> None:
        self.a, self.b = a, b


@dataclasses.dataclass
class AnyArguments:
    a: int

    def __init__(self, *args: int) -> None:
        self.a = sum(args)


@dataclasses.dataclass
class NotInInit:
    a: int
    b: int = dataclasses.field(default=3, init=False)


@dataclasses.dataclass(init=False)
class WithoutInit:
    a: int


@dataclasses.dataclass(kw_only=True)
class ByName:
    a: int


@pytest.mark.parametrize(
    "owner", [TakesInitVar, NeedsInitVar, Swapped, AnyArguments, NotInInit, WithoutInit, ByName]
)
def test_a_dataclass_that_is_not_made_of_its_members_in_their_order(
    device: carillon.Device, owner: type
) -> None:
    with pytest.raises(carillon.UsageError, match=f"^Ring: {owner.__name__}.*in their order"):
        carillon.Ring(device, owner)


@dataclasses.dataclass(frozen=True)
class MayTakeMore:
    a: int
    b: int = 5
    scale: dataclasses.InitVar[int] = 1


@dataclasses.dataclass
class OwnInit:
    a: int
    b: int

    def __init__(self, a: int, b: int, text: str = "", **others: int) -> None:
        self.a, self.b = a, b


@pytest.mark.parametrize("owner", [MayTakeMore, OwnInit])
def test_a_dataclass_that_may_take_more_than_its_members(owner: Any) -> None:
    kind = codec(owner)
    decoded = kind.decode(kind.encode(owner(1, 2)))
    assert (decoded.a, decoded.b) == (1, 2)


@pytest.mark.parametrize("hint", ["NoSuchName", "no name", "carillon.nothing"])
def test_a_members_type_that_nobody_can_tell(device: carillon.Device, hint: str) -> None:
    owner = type("Owner", (), {"__annotations__": {"a": hint}, "__module__": __name__})
    with pytest.raises(
        carillon.UsageError, match="^Ring: cannot find the types of Owner's members"
    ):
        carillon.Ring(device, dataclasses.dataclass(owner))


@pytest.mark.parametrize("hint", ["nonsense", "f4,"])
def test_a_members_dtype_that_is_none(hint: Any) -> None:
    owner = dataclasses.make_dataclass("Owner", [("a", Annotated[int, hint])])
    with pytest.raises(carillon.UsageError, match="Owner.a is of"):
        codec(owner)
