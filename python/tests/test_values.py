# SPDX-License-Identifier: Apache-2.0
"""No value is converted without a word: whatever sends it, and whatever its message type is."""

from __future__ import annotations

import asyncio
import ctypes
import dataclasses
import datetime
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import carillon
from carillon._codec import codec

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
ORDER = np.dtype([("price", "<f8"), ("size", "<u4"), ("side", "S1")])
NESTED = np.dtype([("tick", TICK), ("levels", "<f4", (3,)), ("live", "?")])
NO_TICKS = (4810.0, 5, True, "5", b"12", None, [1.0], (1.0, 2.0, 3.0), [(1.0, 2.0)], {"bid": 1.0})
NAMES = r"\(bid, ask\)"


@dataclasses.dataclass
class Order:
    price: float
    size: Annotated[int, "u4"]
    live: bool


@pytest.fixture(scope="module")
def client(device: carillon.Device) -> Iterator[carillon.Client]:
    with carillon.PersistentKernel(device, lambda tick: tick, request=TICK, reply=TICK) as kernel:
        yield kernel.client()


@pytest.mark.parametrize("value", NO_TICKS)
def test_a_record_is_made_of_as_many_values_as_it_has_members(
    client: carillon.Client, value: object
) -> None:
    sends: list[Callable[[], Any]] = [
        lambda: client.call(value),
        lambda: client.submit(value),
        lambda: client.try_submit(value),
        lambda: client.call_many([value]),
        lambda: client.try_submit_many([value]),
        lambda: asyncio.run(client.call_async(value)),
    ]
    for send in sends:
        with pytest.raises(carillon.UsageError, match=NAMES):
            send()
    assert client.counters.depth == 0


@pytest.mark.parametrize("value", NO_TICKS)
def test_what_else_takes_a_record(device: carillon.Device, value: object) -> None:
    with pytest.raises(carillon.UsageError, match=NAMES):
        carillon.Mailbox(device, TICK, value)
    mailbox = carillon.Mailbox(device, TICK, (1.0, 2.0))
    ring = carillon.Ring(device, TICK)
    back = carillon.Ring(device, TICK, "to_host").emulated_end()
    with pytest.raises(carillon.UsageError, match=NAMES):
        mailbox.set(value)
    for push in (ring.push, ring.try_push, back.try_push, lambda one: ring.try_push_many([one])):
        with pytest.raises(carillon.UsageError, match=NAMES):
            push(value)
    if value is not None:
        with pytest.raises(carillon.UsageError, match=NAMES):
            carillon.ChunkRing(device, TICK, chunk_bytes=64).claim().commit(1, value)


@pytest.mark.parametrize("value", [9.5, None, (1.0,), "5"])
def test_a_handlers_reply_is_a_whole_record(device: carillon.Device, value: object) -> None:
    kernel = carillon.PersistentKernel(device, lambda _: value, request=TICK, reply=TICK)
    with pytest.raises(carillon.UsageError, match=f"the handler raised .*{NAMES}"):
        kernel.client().call((1.0, 2.0))


def test_records_in_every_form(client: carillon.Client) -> None:
    record = np.array([(1.0, 2.0)], TICK)
    for value in (
        (1.0, 2.0),
        [1.0, 2.0],
        (1, np.float32(2)),
        record[0],
        record,
        record.reshape(()),
    ):
        assert client.call(value).item() == (1.0, 2.0)
    assert client.call_many([(1.0, 2.0), [3, 4], record[0]])["ask"].tolist() == [2.0, 4.0, 2.0]
    for array in (np.zeros(2, TICK), np.array([1.0, 2.0]), np.float64(7)):
        with pytest.raises(carillon.UsageError, match=f"2 messages|not {NAMES}"):
            client.call(array)


class AskAndBid(NamedTuple):
    ask: float
    bid: float


class BidAndAsk(NamedTuple):
    bid: float
    ask: float


def test_a_named_tuple_of_another_order_is_no_record(device: carillon.Device) -> None:
    swapped, right = AskAndBid(ask=2.0, bid=1.0), BidAndAsk(bid=1.0, ask=2.0)
    what = r"is \(ask, bid\), but the members' order is \(bid, ask\)"
    for encode in (codec(TICK).encode, lambda one: codec(TICK).encode_many([one])):
        with pytest.raises(carillon.UsageError, match=f"^message: the order of the message {what}"):
            encode(swapped)
        assert bytes(encode(right)) == np.array((1.0, 2.0), TICK).tobytes()
    with pytest.raises(carillon.UsageError, match=f"the order of tick {what}"):
        codec(NESTED).encode((swapped, [1, 2, 3], True))
    kernel = carillon.PersistentKernel(device, lambda _: swapped, request=TICK, reply=TICK)
    with pytest.raises(carillon.UsageError, match=f"the handler raised .*{what}"):
        kernel.client().call(right)
    with pytest.raises(carillon.UsageError, match=f"the handler raised .*{what}"):
        filled(device, lambda _, reply: reply.ticks.__setitem__(0, swapped))


@pytest.mark.parametrize(
    ("value", "what"),
    [
        ((1.0, 1.9, b"B"), "size is 1.9: expected a whole number from 0 to 4294967295"),
        ((1.0, -1, b"B"), "size is -1: expected a whole number from 0"),
        ((1.0, 1 << 32, b"B"), "size is 4294967296: expected a whole number from 0"),
        ((1.0, "1", b"B"), "size is '1'"),
        ((1.0, np.float64(2), b"B"), "size is"),
        (("1", 1, b"B"), "price is '1': expected a number"),
        ((None, 1, b"B"), "price is None: expected a number"),
        (([1.0], 1, b"B"), r"price is \[1.0\]: expected a number"),
        ((np.complex128(1 + 5j), 1, b"B"), "price is .*: expected a number"),
        ((np.array("1"), 1, b"B"), "price is array.*: expected a number"),
        ((np.array([1.0]), 1, b"B"), "price is array.*: expected a number"),
        ((np.timedelta64(5), 1, b"B"), "price is .*: expected a number"),
        ((np.ma.array(1.0, mask=True), 1, b"B"), "(?s)price is .*: expected values without a mask"),
        ((1.0, 1, b"BUY"), "side is b'BUY': expected at most 1 bytes"),
        ((1.0, 1, "BUY"), "side is 'BUY': expected at most 1 bytes"),
        ((1.0, 1, 66), "side is 66: expected at most 1 bytes"),
    ],
)
def test_members_hold_their_values_as_they_are(value: tuple[Any, ...], what: str) -> None:
    for wrong in (value, list(value)):
        with pytest.raises(carillon.UsageError, match=what):
            codec(ORDER).encode(wrong)


def test_values_that_members_hold() -> None:
    made = codec(ORDER)
    for value in ((1, np.uint8(2), b"B"), (np.float32(1), 2, "B"), (1.0, True + 1, b"B")):
        assert made.decode(made.encode(value)).item() == (1.0, 2, b"B")
    assert np.isnan(made.decode(made.encode((float("nan"), 1, b"B")))["price"])
    for number in (np.int64(1), np.float32(1), np.longdouble(1), np.array(1), np.bool_(True)):
        assert made.decode(made.encode((number, 2, b"B")))["price"] == 1.0


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("<M8[s]", "2026-11-25T10:00:00.000"),
        ("<M8[s]", np.datetime64("2026-11-25T10:00:00.000")),
        ("<M8[s]", "NaT"),
        ("<m8[s]", 5),
        ("<m8[s]", np.uint8(5)),
        ("<m8[s]", np.array(5, "u8")),
        ("<m8[s]", 1 - (1 << 63)),
        ("<m8[s]", np.timedelta64(5000, "ms")),
        ("<c8", 1),
        ("<c8", 0.1 + 1j),
        ("<c8", complex("inf")),
    ],
)
def test_times_and_complex_numbers_that_members_hold(dtype: str, value: Any) -> None:
    expected = np.array(value, dtype).tobytes()
    assert codec([("one", dtype)]).encode((value,)) == expected
    if not isinstance(value, np.generic):
        assert codec(dtype).encode(value) == expected


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (((1.0, 2.0), 5.0, True), r"levels is 5.0: expected a tuple, list or array of 3 values"),
        (((1.0, 2.0), [1, 2], True), "levels is .*3 values"),
        (
            ((1.0, 2.0), np.zeros(3), True),
            r"levels is an array of float64 and shape \(3,\): .*of float32 and shape \(3,\)$",
        ),
        (((1.0, 2.0), [1, "2", 3], True), r"levels\[1\] is '2': expected a number"),
        ((4.0, [1, 2, 3], True), f"tick is 4.0: .*{NAMES}"),
        (((1.0, None), [1, 2, 3], True), "tick.ask is None: expected a number"),
        (((1.0, 2.0), [1, 2, 1e39], True), r"levels\[2\] is 1e\+39"),
        (((1.0, 2.0), [1, 2, 3], 1), "live is 1: expected True or False"),
        (((1.0, 2.0), [1, 2, 3], "no"), "live is 'no': expected True or False"),
    ],
)
def test_members_within_members(value: object, what: str) -> None:
    with pytest.raises(carillon.UsageError, match=what):
        codec(NESTED).encode(value)
    tick = np.array((1.0, 2.0), TICK)
    right = codec(NESTED).encode((tick[()], np.arange(3, dtype="f4"), np.bool_(True)))
    assert right == codec(NESTED).encode([[1.0, 2.0], (0, 1, 2), True])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("<u4", 1.9),
        ("<u4", "1"),
        ("<u4", (1,)),
        ("<i1", 128),
        ("<f8", "1.0"),
        ("<f8", (1.0,)),
        ("<f8", None),
        (">f4", "1"),
        ("<f2", 1e6),
        ("<f4", 1e300),
        ("<i2", 7.9),
        ("?", 1),
        ("?", 2),
        ("S3", b"four"),
        ("U3", "four"),
        ("V3", b"four"),
        ("<c8", "1"),
        ("<c8", 1e39),
        ("<c8", 1 + 1e300j),
        ("<c8", np.array("1")),
        ("<M8[s]", "no time"),
        ("<M8[s]", "2026-11-25T10:00:00.7"),
        ("<M8[s]", np.datetime64("2026-11-25T10:00:00.7")),
        ("<M8[s]", np.datetime64(300_000_000_000, "Y")),
        ("<M8[s]", 5),
        ("<m8[s]", np.timedelta64(1700, "ms")),
        ("<m8[s]", np.timedelta64(1 << 62, "W")),
        ("<m8[s]", 1 << 63),
        ("<m8[s]", -1 << 63),
        ("<m8[s]", np.uint64((1 << 63) + 5)),
        ("<m8[s]", 1.5),
        ("<m8[s]", datetime.timedelta(seconds=1)),
        ("<M8[s]", datetime.datetime(2026, 11, 25)),
        ("<f8", np.ma.masked),
    ],
)
def test_numbers_and_texts_by_themselves(dtype: str, value: object) -> None:
    member = np.dtype([("one", dtype)])
    with pytest.raises(carillon.UsageError, match="^message: the message is"):
        codec(dtype).encode(value)
    with pytest.raises(carillon.UsageError, match="^message: one is"):
        codec(member).encode((value,))
    with pytest.raises(carillon.UsageError, match="^message: the message is"):
        codec(dtype).encode_many([value])


@pytest.mark.parametrize(
    ("members", "what"),
    [
        ((1.0, 1.9, True), "size is 1.9"),
        ((1.0, -1, True), "size is -1"),
        (("1", 1, True), "price is '1'"),
        ((1.0, 1, 1), "live is 1"),
        ((1.0, 1, "no"), "live is 'no'"),
        ((np.complex64(1), 1, True), "price is .*: expected a number"),
        ((np.array("1"), 1, True), "price is array.*: expected a number"),
    ],
)
def test_dataclasses_agree_with_dtypes(members: tuple[Any, ...], what: str) -> None:
    dtype = np.dtype([("price", "<f8"), ("size", "<u4"), ("live", "?")], align=True)
    for made, value in ((codec(Order), Order(*members)), (codec(dtype), members)):
        with pytest.raises(carillon.UsageError, match=what):
            made.encode(value)
        with pytest.raises(carillon.UsageError, match=what):
            made.encode_many([value])


def test_a_subclass_with_further_members_is_another_class() -> None:
    class Same(Order):
        pass

    @dataclasses.dataclass
    class Further(Order):
        note: int

    assert codec(Order).encode(Same(1.0, 2, True)) == codec(Order).encode(Order(1.0, 2, True))
    with pytest.raises(carillon.UsageError, match="the message is a Further, not a Order"):
        codec(Order).encode(Further(1.0, 2, True, 7))


@pytest.mark.parametrize("values", [b"\1\0\0\0", bytearray(4), memoryview(b"1234"), "1234"])
@pytest.mark.parametrize("message", ["<u4", "<f8", "S1", Order])
def test_bytes_are_no_row_of_messages(message: Any, values: Any) -> None:
    with pytest.raises(carillon.ArgumentTypeError, match=r"messages is .*: expected a list"):
        codec(message).encode_many(values)


def test_what_is_masked_is_no_message() -> None:
    ticks = np.ma.array([(1.0, 2.0)], TICK, mask=[(True, False)])
    for send in (codec(TICK).encode, codec(TICK).encode_many):
        with pytest.raises(carillon.UsageError, match="masked"):
            send(ticks)


def test_bytes_between_members_are_zeros() -> None:
    padded = np.dtype([("side", "S1"), ("price", "<f8")], align=True)
    for _ in range(100):
        assert codec(padded).encode((b"B", 0.0)) == b"B" + bytes(15)


def test_a_reply_that_is_filled_in_place_holds_its_values_as_they_are(
    device: carillon.Device,
) -> None:
    def counts(tick: Any, reply: Any) -> None:
        reply.size = tick.bid

    kernel = carillon.PersistentKernel(device, counts, request=TICK, reply=ORDER)
    with pytest.raises(carillon.UsageError, match=r"size is .*1\.5"):
        kernel.client().call((1.5, 2.0))


SECOND, DAY = datetime.timedelta(seconds=1), datetime.datetime(2026, 11, 25)
LEVELS = np.dtype(
    [
        ("sizes", "<u4", (3,)),
        ("prices", "<f4", (3,)),
        ("ticks", TICK, (2,)),
        ("waits", "<m8[us]", (2,)),
        ("days", "<M8[us]", (2,)),
    ]
)


def filled(device: carillon.Device, fill: Callable[[Any, Any], Any]) -> Any:
    kernel = carillon.PersistentKernel(device, fill, request=LEVELS, reply=LEVELS)
    times = ([1, 2], ["2026-11-25", "2026-11-26"])
    return kernel.client().call(([1, 2, 3], [0.5, 1, 2], [(1, 2), (3, 4)], *times))


def by_text(code: str) -> Callable[[Any, Any], Any]:
    found: dict[str, Any] = {"np": np}
    exec(f"def fill(q, r):\n    {code}", found)  # noqa: S102
    return found["fill"]


@pytest.mark.parametrize(
    "code",
    [
        "r.sizes[0] = 1.9",
        "r.sizes[0] = '7'",
        "r.sizes[1:][0] = -1",
        "r.sizes[:] = [1, 2, 1 << 32]",
        "r.sizes[:] = q.prices",
        "r.sizes.fill(1.9)",
        "r.prices[0] = 1e39",
        "r.prices[:] = np.array([1e39, 1, 1])",
        "r.prices[0] = np.complex128(1j)",
        "prices = r.prices; prices += 1; prices[0] = '1'",
        "r.ticks[0].bid = '1'",
        "r.ticks[0]['bid'] = '1'",
        "r.ticks['bid'][0] = '1'",
        "r.ticks[0] = 5",
        "r.ticks[:] = np.zeros(2, [('ask', '<f8'), ('bid', '<f8')])",
        "r.sizes[:] = np.ma.array([1, 2, 3], 'u4', mask=[0, 1, 0])",
        "r.waits[:] = np.array([1500, 2000], 'm8[ns]')",
        "r.waits[:] = np.array([2, 3], 'm8[Y]')",
        "r.waits[...] = np.array(1500, 'm8[ns]')",
        "return r.sizes",
        "return (9.0, 9.0)",
    ],
)
def test_arrays_that_are_filled_in_hold_their_values_as_they_are(
    device: carillon.Device, code: str
) -> None:
    with pytest.raises(carillon.UsageError, match="the handler raised"):
        filled(device, by_text(code))


@pytest.mark.parametrize(
    ("code", "member", "value"),
    [
        ("r.sizes[0] = q.sizes[2]", "sizes", [3, 0, 0]),
        ("r.sizes[:] = 5", "sizes", [5, 5, 5]),
        ("r.sizes[1:] = q.sizes[:2] * 2", "sizes", [0, 2, 4]),
        ("r.sizes = q.sizes; r.sizes += 1", "sizes", [2, 3, 4]),
        ("r.prices[:] = q.sizes / 2", "prices", [0.5, 1, 1.5]),
        ("r.prices[0] = q.prices.sum() + max(q.prices)", "prices", [5.5, 0, 0]),
        ("r.ticks[0] = q.ticks[1]; r.ticks[1].bid = 7", "ticks", [(3, 4), (7, 0)]),
        ("r.ticks[:] = [(1, 2), q.ticks[0]]", "ticks", [(1, 2), (1, 2)]),
        ("r.waits[:] = np.array([2, 3], 'm8[s]')", "waits", [2 * SECOND, 3 * SECOND]),
        ("r.waits[...] = np.array(2000, 'm8[ns]')", "waits", [2 * SECOND / 10**6] * 2),
        ("r.days[:] = np.array(['2026-11-25'], 'M8[D]')", "days", [DAY, DAY]),
        ("r.days[:] = np.array(['2026-11-25'], 'M8[ns]')", "days", [DAY, DAY]),
        ("wide = q.sizes > 1; wide[0] = True; r.sizes[wide] = 1", "sizes", [1, 1, 1]),
    ],
)
def test_arrays_are_filled_in(
    device: carillon.Device, code: str, member: str, value: object
) -> None:
    assert filled(device, by_text(code))[member].tolist() == value


RECORD_OF_OBJECTS = np.zeros(1, [("time", "M8[s]"), ("one", "O")])


@pytest.mark.parametrize(
    "objects",
    [
        np.array([None], object),
        memoryview(np.array([None], object)),
        np.zeros(1, [("one", "O"), ("OO", "u1", 8)]),
        np.zeros(1, [("one", "O")])[0],
        RECORD_OF_OBJECTS,
        (ctypes.py_object * 1)(None),
    ],
)
def test_objects_of_python_are_no_bytes(device: carillon.Device, objects: Any) -> None:
    size = objects.nbytes if hasattr(objects, "nbytes") else ctypes.sizeof(objects)
    memory = device.allocate(64)
    kernel = carillon.PersistentKernel(device, bytes, request=size, reply=size)
    chunk = carillon.ChunkRing(device, chunk_bytes=64).claim()
    buffer = carillon.Store(device, bytes=1 << 20).create(64)
    answers = carillon.PersistentKernel(device, lambda _: objects, request=1, reply=size)
    uses: list[Callable[[], Any]] = [
        lambda: kernel.client().call(objects),
        lambda: kernel.client().try_submit_many(objects),
        lambda: carillon.copy_to_device(memory, objects),
        lambda: chunk.fill(objects),
        lambda: buffer.write(objects),
        lambda: carillon.Mailbox(device, size, objects),
        lambda: carillon.Ring(device, size).push(objects),
        lambda: answers.client().call(b"1"),
    ]
    if not isinstance(objects, np.void):  # whose bytes nobody may write
        uses.append(lambda: carillon.copy_from_device(objects, memory))
    for use in uses:
        with pytest.raises(carillon.UsageError, match="Python objects, not bytes"):
            use()


def test_bytes_of_every_dtype_without_objects(device: carillon.Device) -> None:
    memory = device.allocate(64)
    named = np.array([(1, 2)], [("Open", "<u4"), ("O", "<u4")])
    for sent in (named, np.array(["2026-11-25"], "M8[s]"), np.arange(2, dtype=">u4")):
        carillon.copy_to_device(memory, sent)
        found = np.zeros_like(sent)
        carillon.copy_from_device(found, memory)
        assert found.tobytes() == sent.tobytes()


ALIGNED = np.dtype([("a", "u1"), ("b", "<u8")], align=True)
WITHIN = np.dtype([("one", ALIGNED), ("c", "u1")], align=True)
SEVERAL = np.dtype([("two", ALIGNED, (2,)), ("c", "<u4", (3,))], align=True)
AMIDST = np.dtype({"names": ["a"], "formats": ["<u4"], "offsets": [4], "itemsize": 12})


@pytest.mark.parametrize(
    ("dtype", "gaps"),
    [
        (ALIGNED, [(1, 7)]),
        (WITHIN, [(1, 7), (17, 7)]),
        (SEVERAL, [(1, 7), (17, 7), (44, 4)]),
        (AMIDST, [(0, 4), (8, 4)]),
        (np.dtype([("a", "<u4"), ("b", AMIDST)], align=True), [(4, 4), (12, 4)]),
        (np.dtype({"names": ["b"], "formats": [AMIDST], "offsets": [4]}), [(0, 8), (12, 4)]),
        (np.dtype([("a", "<u4"), ("b", "<u4")]), []),
    ],
)
def test_what_is_between_members_of_records_is_zeros(
    device: carillon.Device, dtype: np.dtype[Any], gaps: list[tuple[int, int]]
) -> None:
    one = bytearray(b"\xff" * dtype.itemsize)
    for begin, count in gaps:
        one[begin : begin + count] = bytes(count)
    records = np.frombuffer(b"\xff" * dtype.itemsize * 3, dtype)
    made = codec(dtype)
    members = [records[0][name] for name in dtype.names or ()]
    for record in (records[0], records[:1], members, tuple(members)):
        assert made.encode(record) == one
    assert bytes(made.encode_many(records)) == one * 3
    assert bytes(made.encode_many(list(records))) == one * 3
    assert bytes(made.encode_many(records[:0])) == b""

    def fill(_: Any, reply: Any) -> None:
        for name in dtype.names or ():
            reply[name] = records[0][name]

    for handler in (lambda _: records[0], fill):
        kernel = carillon.PersistentKernel(device, handler, request=TICK, reply=dtype)
        assert kernel.client()._raw.call(bytes(16), 1.0) == one


def test_a_long_double_sends_its_own_bytes_alone() -> None:
    number = np.longdouble(1.5)
    used = 10 if np.finfo(np.longdouble).nmant == 63 else number.nbytes
    full = number.tobytes()[:used] + b"\xff" * (number.nbytes - used)
    of_two = np.dtype([("one", np.longdouble, (2,))])
    for dtype in (np.dtype(np.longdouble), np.dtype(np.clongdouble), of_two):
        count = dtype.itemsize // number.nbytes
        sent = np.frombuffer(full * count, dtype)
        clear = number.tobytes()[:used] + bytes(number.nbytes - used)
        for given in (sent, sent[0]) if dtype.names is None else (sent, sent[0], sent[0].item()):
            assert codec(dtype).encode(given) == clear * count


@pytest.mark.parametrize(
    ("dtype", "value", "back"),
    [
        ("S3", b"AB", b"AB"),
        ("S3", np.bytes_(b"AB"), b"AB"),
        ("U3", "AB", "AB"),
        (">f8", 1.5, 1.5),
        (">u4", 7, 7),
        (">M8[s]", "2026-11-25", np.datetime64("2026-11-25")),
        ("<f4", np.float64(1.5), 1.5),
        ("<f8", np.int64(5), 5.0),
        ("<f8", np.array(5), 5.0),
        ("<u4", np.int64(5), 5),
        ("?", np.bool_(True), True),
    ],
)
def test_a_handler_answers_with_what_it_received(
    device: carillon.Device, dtype: str, value: Any, back: Any
) -> None:
    kernel = carillon.PersistentKernel(device, lambda one: one, request=dtype, reply=dtype)
    client = kernel.client()
    assert client.call(client.call(value)) == back
    mailbox = carillon.Mailbox(device, dtype, value)
    end = mailbox.emulated_end()
    mailbox.set(end.refresh())
    assert end.refresh() == back


def test_another_dtype_of_the_same_names_is_shown() -> None:
    short = np.zeros(1, [("bid", "<f4"), ("ask", "<f4")])
    for send in (codec(TICK).encode, codec(TICK).encode_many):
        with pytest.raises(carillon.UsageError, match=r"<f4.*, not \[\('bid', '<f8'\)"):
            send(short)


@pytest.mark.parametrize("masked", [np.ma.array(5, mask=True), np.ma.array(5)])
def test_a_masked_number_is_no_member(masked: Any) -> None:
    for dtype in ([("size", "<u4")], [("size", "<u4"), ("side", "S1")]):
        with pytest.raises(carillon.UsageError, match="(?s)size is .*without a mask"):
            codec(dtype).encode((masked, b"B")[: len(dtype)])


@pytest.mark.parametrize(
    "text",
    [
        "",
        "now",
        "today",
        "2026-11-25T10:00:00Z",
        "2026-11-25T10:00:00+01:00",
        "20261125",
        "-2026",
        "2026-11-25T10:00:00.",
        "2026-13-25",
    ],
)
def test_a_time_that_is_not_written_as_iso_8601_has_it(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(carillon.UsageError, match="^message: the message is"):
            codec("<M8[s]").encode(text)


@pytest.mark.parametrize(
    "text", ["2026", "2026-11", "2026-11-25", "2026-11-25 10:00", "2026-11-25T10:00:00.0"]
)
def test_a_time_that_is_written_as_iso_8601_has_it(text: str) -> None:
    assert codec("<M8[s]").encode(text) == np.datetime64(text, "s").tobytes()
