# SPDX-License-Identifier: Apache-2.0
"""Handlers in Python that fill their reply: called on the emulated device, compiled for a GPU."""

from __future__ import annotations

import copy
import dataclasses
import pathlib
import pickle
from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
import pytest

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype([("mid", "<f8"), ("size", "<u4")], align=True)


def reprice(tick: Any, quote: Any) -> None:
    quote.mid = (tick.bid + tick.ask) / 2
    quote.size += 7  # of a reply that is all zeros


@dataclasses.dataclass
class Order:
    price: float
    size: Annotated[int, "u4"]


def double(order: Any, answer: Any) -> None:
    answer.price = order.price * 2
    answer["size"] = order["size"] * 2


INNER = np.dtype([("at", "<u4"), ("of", "<u2", (2,))], align=True)
OUTER = np.dtype([("data", INNER), ("sum", "<i8")], align=True)  # names of NumPy's own attributes


def nested(asked: Any, answer: Any) -> None:
    answer.data = asked.data
    answer.data.at += 1
    answer.data.of[1] = asked.data.of[0]
    answer.sum = asked.sum + answer.data.at


def test_members_within_members(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, nested, request=OUTER, reply=OUTER) as kernel:
        reply = kernel.client().call(((3, (5, 6)), 40))
        assert reply["data"]["of"].tolist() == [5, 5]
        assert reply["data"]["at"] == 4 and reply["sum"] == 44


def kept_records(asked: Any, answer: Any) -> None:
    for kept in (copy.copy(asked), copy.deepcopy(asked), pickle.loads(pickle.dumps(asked))):
        assert kept == asked and asked == kept and kept.data == asked.data
        kept.sum += 1
        kept.data.of[0] += 1  # of its own bytes
        assert kept != asked and kept.data != asked.data
    assert asked != answer and asked != asked.data and asked != 5
    answer.sum = asked.sum
    last.append(copy.copy(asked))


last: list[Any] = []


def test_a_record_is_copied_and_compared_by_its_values(device: carillon.Device) -> None:
    last.clear()
    with carillon.PersistentKernel(device, kept_records, request=OUTER, reply=OUTER) as kernel:
        client = kernel.client()
        for number in (40, 41):
            assert client.call(((3, (5, 6)), number))["sum"] == number
        assert [kept.sum for kept in last] == [40, 41] and last[0] != last[1]
        assert repr(last[0]) == repr(np.array(((3, (5, 6)), 40), OUTER)[()])
        assert client.call(last[0])["sum"] == 40  # a message as it is


ROWS = np.dtype([("row", INNER, (2,))], align=True)


def test_rows_of_records_are_made_of_records(device: carillon.Device) -> None:
    def swapped(asked: Any, answer: Any) -> None:
        answer.row = [asked.row[1], asked.row[0]]
        answer.row["of"] = [[1, 2], [3, 4]]  # of each

    with carillon.PersistentKernel(device, swapped, request=ROWS, reply=ROWS) as kernel:
        reply = kernel.client().call(([(3, (5, 6)), (7, (8, 9))],))
        assert reply["row"]["at"].tolist() == [7, 3]
        assert reply["row"]["of"].tolist() == [[1, 2], [3, 4]]

    def wrong(asked: Any, answer: Any) -> None:
        answer.row["at"] = [1, 1.9]

    kernel = carillon.PersistentKernel(device, wrong, request=ROWS, reply=ROWS)
    with pytest.raises(
        carillon.UsageError, match="an element is 1.9: expected a whole number from 0 to 42"
    ):
        kernel.client().call(([(3, (5, 6)), (7, (8, 9))],))


class Compiled:
    """What Numba makes of a function."""

    py_func = staticmethod(reprice)

    def __call__(self, *_: Any) -> None:
        raise AssertionError("only a GPU can call it")


@pytest.mark.parametrize("handler", [reprice, Compiled()])
def test_fills_the_reply(device: carillon.Device, handler: Callable[..., Any]) -> None:
    with carillon.PersistentKernel(device, handler, request=TICK, reply=QUOTE) as kernel:
        for i in range(3):
            quote = kernel.client().call((i, i + 2))
            assert quote["mid"] == i + 1 and quote["size"] == 7


def test_dataclasses(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, double, request=Order, reply=Order) as kernel:
        assert kernel.client().call(Order(1.5, 4)) == Order(3.0, 8)


def test_members_that_are_not_there(device: carillon.Device) -> None:
    def wrong(tick: Any, quote: Any) -> None:
        quote.nothing = tick.bid

    kernel = carillon.PersistentKernel(device, wrong, request=TICK, reply=QUOTE)
    with pytest.raises(carillon.Error, match="nothing"):
        kernel.client().call((1, 2), timeout=10)


@pytest.mark.parametrize(("request_type", "reply"), [(16, QUOTE), (TICK, "<i4")])
def test_messages_without_members(device: carillon.Device, request_type: Any, reply: Any) -> None:
    with pytest.raises(carillon.UsageError, match="has no members") as caught:
        carillon.PersistentKernel(device, reprice, request=request_type, reply=reply)
    assert caught.value.call == "PersistentKernel"
    with pytest.raises(carillon.UsageError, match="^compile_handler: .* has no members"):
        numba_or_skip()
        carillon.compile_handler(90, reprice, request=request_type, reply=reply)


def test_a_function_of_one_parameter_is_for_the_emulated_device() -> None:
    with pytest.raises(carillon.UsageError, match=r"handler\(request, reply\) and fills"):
        carillon.compile_handler(90, lambda tick: tick, request=TICK, reply=QUOTE)  # type: ignore[arg-type, misc]


def test_the_emulated_device_compiles_nothing(device: carillon.Device) -> None:
    with pytest.raises(carillon.UnsupportedError, match="calls Python functions without compiling"):
        carillon.compile_handler(device, reprice, request=TICK, reply=QUOTE)


def numba_or_skip() -> None:
    pytest.importorskip("numba_cuda")


def compiled(handler: Callable[..., None], cache: pathlib.Path, **options: Any) -> Any:
    numba_or_skip()
    try:
        return carillon.compile_handler(
            90, handler, request=TICK, reply=QUOTE, cache=cache, **options
        )
    except carillon.UnsupportedError as error:
        pytest.skip(str(error))


def test_numba_compiles_it(tmp_path: pathlib.Path) -> None:
    handler = compiled(reprice, tmp_path)
    assert handler.machine_code.startswith(b"\x7fELF") and handler.threads == 1
    assert b"carillon_channels" in handler.machine_code
    assert (
        b"carillon_python_handler" not in handler.machine_code
    )  # a part of the kernel, not called


def test_numbas_errors(tmp_path: pathlib.Path) -> None:
    def wrong(tick: Any, quote: Any) -> None:
        quote.mid = tick.nothing

    with pytest.raises(carillon.CompileError, match="the handler does not compile") as caught:
        compiled(wrong, tmp_path)
    assert "nothing" in caught.value.log and caught.value.call == "compile_handler"


def test_a_numba_that_compiles_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    compiled(reprice, tmp_path)
    from numba import cuda

    def fails(*_: Any, **__: Any) -> None:
        raise AttributeError("module 'numpy' has no attribute 'row_stack'")

    monkeypatch.setattr(cuda, "compile", fails)
    with pytest.raises(carillon.UnsupportedError, match="cannot compile here: AttributeError"):
        carillon.compile_handler(90, reprice, request=TICK, reply=QUOTE)


def test_no_linker_says_what_to_install(tmp_path: pathlib.Path) -> None:
    compiled(reprice, tmp_path)
    with pytest.raises(carillon.UnsupportedError, match="nvidia-nvjitlink"):
        carillon.compile_handler(
            90,
            reprice,
            request=TICK,
            reply=QUOTE,
            nvjitlink="/nowhere.so",
            keep=False,
            compiler_options=["-lineinfo"],
        )


def test_no_numba_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "numba_cuda", None)
    with pytest.raises(carillon.UnsupportedError, match="pip install numba-cuda"):
        carillon.compile_handler(90, reprice, request=TICK, reply=QUOTE)
