# SPDX-License-Identifier: Apache-2.0
"""Errors speak Python: they name the call and the argument, and say in members what they know."""

from __future__ import annotations

import asyncio
import builtins
import copy
import errno
import gc
import inspect
import math
import os
import pickle
import time
import traceback
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import carillon
from carillon import _carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])


def echo(data: bytes) -> bytes:
    return data


@pytest.fixture
def kernel(device: carillon.Device) -> carillon.PersistentKernel:
    return carillon.PersistentKernel(device, echo, request=4, reply=4, capacity=4)


def test_classes_are_those_of_the_table() -> None:
    found = {name for name, each in vars(_carillon).items() if inspect.isclass(each)}
    named = {name for name in found if name.endswith("Error")}
    assert named == set(carillon.errors.__all__) == {n for n in named if hasattr(carillon, n)}
    assert issubclass(carillon.TimeoutError, builtins.TimeoutError)
    assert issubclass(carillon.ArgumentTypeError, (carillon.UsageError, TypeError))
    assert carillon.TimeoutError("x").sent is False
    assert carillon.RefusedError("x").reason == "other"
    assert carillon.HandlerError("x").code == 0
    assert carillon.UsageError.__module__ == "carillon.errors"


@pytest.mark.parametrize("timeout", [None, "1", b"1", [1.0], 1j])
def test_timeouts_of_other_types(
    device: carillon.Device, kernel: carillon.PersistentKernel, timeout: Any
) -> None:
    client = kernel.client()
    ticket = client.submit(b"1234")
    ring, back = carillon.Ring(device, 4), carillon.Ring(device, 4, "to_host")
    chunks = carillon.ChunkRing(device, chunk_bytes=64)
    store = carillon.Store(device, bytes=1 << 20)
    calls: dict[str, Callable[[], Any]] = {
        "Client.call": lambda: client.call(b"1234", timeout),
        "Client.call_many": lambda: client.call_many(b"1234", timeout),
        "Client.submit": lambda: client.submit(b"1234", timeout),
        "Client.wait": lambda: client.wait(ticket, timeout),
        "Client.call_async": lambda: asyncio.run(client.call_async(b"1234", timeout)),
        "PersistentKernel.drain": lambda: kernel.drain(timeout),
        "PersistentKernel.stop": lambda: kernel.stop(timeout),
        "Ring.push": lambda: ring.push(b"1234", timeout),
        "Ring.pop": lambda: back.pop(timeout),
        "ChunkRing.claim": lambda: chunks.claim(timeout),
        "SealedEvents.next": lambda: store.sealed_events().next(timeout),
        "SealedBuffers.next": lambda: store.sealed_buffers().next(timeout),
        "connect": lambda: carillon.connect("/nowhere", timeout=timeout),
        "connect_store": lambda: carillon.connect_store("/nowhere", timeout=timeout),
    }
    for name, call in calls.items():
        with pytest.raises(TypeError) as error:
            call()
        assert isinstance(error.value, carillon.UsageError)
        assert str(error.value) == f"{name}: timeout is {timeout!r}: expected seconds or math.inf"
        assert error.value.call == name
    with pytest.raises(
        TypeError, match="^connect: wait_for_owner is .*: expected seconds or math.inf"
    ):
        carillon.connect("/nowhere", wait_for_owner=timeout)


def test_any_time_is_in_seconds(kernel: carillon.PersistentKernel) -> None:
    for timeout in (1, 1.0, math.inf, np.float32(1), np.int64(1)):
        assert kernel.client().call(b"1234", timeout) == b"1234"
        assert asyncio.run(kernel.client().call_async(b"1234", timeout)) == b"1234"


def test_arguments_of_other_types(
    device: carillon.Device, kernel: carillon.PersistentKernel
) -> None:
    whole = "expected a whole number from 0 to"
    other: Any = None
    memory, store = device.allocate(64), carillon.Store(device, bytes=1 << 20)
    ring, chunks = carillon.Ring(device, 4, "to_host"), carillon.ChunkRing(device, chunk_bytes=64)
    server = carillon.Server()

    def started(at: Any, handler: Any) -> Any:
        return carillon.PersistentKernel(at, handler, request=4, reply=4)

    def connect(**options: Any) -> Any:
        return carillon.connect("/nowhere", **options)

    def connect_store(**options: Any) -> Any:
        return carillon.connect_store("/nowhere", **options)

    def compiled(at: Any = 90, handler: Any = "the text", **options: Any) -> Any:
        return carillon.compile_handler(at, handler, request=4, reply=4, **options)

    def array(dtype: Any = "f4", **options: Any) -> Any:
        return carillon.DeviceArray(memory, dtype, **options)

    calls: list[tuple[Callable[[], Any], str]] = [
        (lambda: device.allocate(other), "Device.allocate: size is None: expected a whole number"),
        (lambda: device.allocate(-1), f"Device.allocate: size is -1: {whole}"),
        (lambda: device.allocate(1 << 70), f"Device.allocate: size is {1 << 70}: {whole}"),
        (
            lambda: device.allocate_host(1.5),
            "Device.allocate_host: size is 1.5: expected a whole number",
        ),  # type: ignore[arg-type]
        (lambda: carillon.Device(other), "Device: selector is None: expected text"),
        (lambda: carillon.Device("emulated", require_coherent=other), "True or False"),
        (lambda: carillon.Ring(device, 4, capacity=-1), f"Ring: capacity is -1: {whole}"),
        (lambda: carillon.Ring(device, 4, other), "Ring: direction is None: expected text"),
        (lambda: carillon.Ring(other, 4), "Ring: device is None: expected a Device"),
        (lambda: carillon.Mailbox(device, 4, b"1234", capacity=other), "Mailbox: capacity is None"),
        (lambda: carillon.ChunkRing(device, chunk_bytes=other), "ChunkRing: chunk_bytes is None"),
        (lambda: carillon.Store(other), "Store: device is None: expected a Device"),
        (lambda: carillon.Server(other), "Server: path is None: expected a path"),
        (
            lambda: kernel.client(other),
            "PersistentKernel.client: block is None: expected a whole number",
        ),
        (lambda: kernel.client().wait(other), "Client.wait: ticket is None: expected a Ticket"),
        (
            lambda: kernel.client().try_take_many(other),
            "Client.try_take_many: tickets is None: expected",
        ),
        (
            lambda: kernel.client().abandon(other),
            "Client.abandon: ticket is None: expected a Ticket",
        ),
        (
            lambda: carillon.copy_to_device(other, b"1"),
            "copy_to_device: memory is None: expected a Memory",
        ),
        (
            lambda: started("emulated", echo),
            "PersistentKernel: device is 'emulated': expected a Device",
        ),
        (lambda: kernel.serve(other), "PersistentKernel.serve: path is None: expected a path"),
        (
            lambda: kernel.serve("x\0"),
            "PersistentKernel.serve: path is 'x\\x00': expected a path without",
        ),
        (
            lambda: kernel.serve("x", mode=other),
            "PersistentKernel.serve: mode is None: expected a whole",
        ),
        (
            lambda: kernel.serve("x", users=other),
            "PersistentKernel.serve: users is None: expected a list",
        ),
        (lambda: carillon.Server("x", users="root"), "Server: users is 'root': expected a list"),
        (lambda: carillon.Server("x", groups=[-1]), f"Server: groups is -1: {whole}"),
        (
            lambda: kernel.add_to(other, "x"),
            "PersistentKernel.add_to: server is None: expected a Server",
        ),
        (
            lambda: kernel.add_to(server, other),
            "PersistentKernel.add_to: name is None: expected text",
        ),
        (lambda: connect(owner_user=-1), f"connect: owner_user is -1: {whole}"),
        (
            lambda: connect(owner_user="root"),
            "connect: owner_user is 'root': expected a whole number",
        ),
        (lambda: connect(name="\udcff"), r"connect: name is '\udcff': expected text in UTF-8"),
        (lambda: connect_store(owner_user=-1), f"connect_store: owner_user is -1: {whole}"),
        (lambda: store.get(other), "Store.get: id is None: expected a buffer's number or name"),
        (lambda: store.get(-1), "Store.get: id is -1: expected a buffer's number or name"),
        (
            lambda: store.remove(other),
            "Store.remove: id is None: expected a buffer's number or name",
        ),
        (
            lambda: store.remove(name=other),
            "Store.remove: id is None: expected a buffer's number or name",
        ),
        (
            lambda: compiled(other),
            "compile_handler: device is None: expected a Device or a compute",
        ),
        (
            lambda: compiled(90, b"text"),
            "compile_handler: handler is b'text': expected text or a func",
        ),
        (lambda: compiled(90, 5), "compile_handler: handler is 5: expected text or a function"),
        (
            lambda: compiled(1 << 40),
            "compile_handler: device is 1099511627776: expected a whole number",
        ),
        (lambda: compiled(keep=other), "compile_handler: keep is None: expected True or False"),
        (lambda: compiled(before=other), "compile_handler: before is None: expected a str"),
        (lambda: compiled(headers=other), "compile_handler: headers is None: expected a path"),
        (
            lambda: compiled(request_name=other),
            "compile_handler: request_name is None: expected text",
        ),
        (lambda: compiled(compiler_options="-G"), "compile_handler: compiler_options is '-G'"),
        (
            lambda: compiled(include_folders=[1]),
            "compile_handler: include_folders is 1: expected a path",
        ),
        (lambda: carillon.DeviceArray(other), "DeviceArray: memory is None: expected a Memory"),
        (lambda: array(other), "DeviceArray: dtype is None: expected a dtype"),
        (lambda: array(shape=1.5), "DeviceArray: shape is 1.5: expected a whole number or several"),
        (
            lambda: array(shape="12"),
            "DeviceArray: shape is '12': expected a whole number or several",
        ),
        (lambda: array(offset=other), "DeviceArray: offset is None: expected a whole number"),
        (lambda: memory.array(other), "Memory.array: dtype is None: expected a dtype"),
        (lambda: chunks.claim().array(other), "Chunk.array: dtype is None: expected a dtype"),
        (lambda: array("nosuch"), "DeviceArray: dtype is 'nosuch': expected a dtype"),
        (lambda: memory.array("nosuch"), "Memory.array: dtype is 'nosuch': expected a dtype"),
        (
            lambda: memory.array(shape=1.5),
            "Memory.array: shape is 1.5: expected a whole number or sev",
        ),
        (
            lambda: memory.array(shape="3"),
            "Memory.array: shape is '3': expected a whole number or sev",
        ),
        (lambda: memory.array("u1", (2, -3)), "Memory.array: shape is (2, -3): expected whole"),
        (lambda: memory.array("u8", 1 << 70), "Memory.array: (1180591620717411303424,) of "),
        (lambda: memory.array("u8", 1 << 61), "Memory.array: (2305843009213693952,) of uint64"),
        (
            lambda: chunks.claim().array("u1", (2, -3)),
            "Chunk.array: shape is (2, -3): expected whole",
        ),
        (lambda: chunks.claim().array("u1", 1 << 40), "Chunk.array: (1099511627776,) of uint8"),
        (lambda: array("u1", offset=5000), "DeviceArray: bytes 5000 to 5000 exceed the memory"),
        (lambda: chunks.claim().commit(-1), f"Chunk.commit: used is -1: {whole}"),
        (lambda: chunks.emulated_end().release(other), "ChunkRingDeviceEnd.release: chunk is None"),
        (
            lambda: ring.try_pop_many(other),
            "Ring.try_pop_many: count is None: expected a whole number",
        ),
        (lambda: ring.try_pop_many(-1), f"Ring.try_pop_many: count is -1: {whole}"),
    ]
    for call, text in calls:
        with pytest.raises(carillon.UsageError) as error:
            call()
        assert text in str(error.value)
        assert "::" not in str(error.value) and "_carillon" not in str(error.value)


def test_options_that_there_are_not(kernel: carillon.PersistentKernel) -> None:
    wrong: dict[str, Any] = {"nam": "x"}
    with pytest.raises(TypeError, match=r"serve\(\) got an unexpected keyword argument 'nam'"):
        kernel.serve("/nowhere", **wrong)
    makers: list[Callable[..., Any]] = [
        carillon.Server,
        carillon.Device,
        carillon.Store,
        carillon.connect_store,
    ]
    for made in makers:
        with pytest.raises(
            TypeError, match=r'^\w+: there is no argument "nam": expected \w+, '
        ) as error:
            made("emulated", **wrong)
        assert isinstance(error.value, carillon.UsageError)
        with pytest.raises(
            carillon.UsageError, match=r"^\w+: too few or too many arguments: expected \w+, "
        ):
            made("emulated", 1, 2, 3)


def test_what_a_kernel_was_not_made_for(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, echo, request=4, reply=4)
    with pytest.raises(carillon.UsageError, match=r"^PersistentKernel.serve: .*shared=True"):
        kernel.serve("/nowhere")
    shared = carillon.PersistentKernel(device, echo, request=4, reply=4, shared=True)
    with pytest.raises(
        carillon.UsageError, match="^PersistentKernel.client: the kernel is for clients in other"
    ):
        shared.client()


def test_errors_of_the_system_have_the_name_of_errno() -> None:
    with pytest.raises(carillon.SystemError, match=r"ENOENT \(2\): No such file") as error:
        carillon.connect("/nowhere/kernel.sock")
    assert error.value.code_name == "ENOENT" and error.value.errno == error.value.code == 2


def test_no_error_has_a_name_of_cpp(
    device: carillon.Device, kernel: carillon.PersistentKernel
) -> None:
    ring, back = carillon.Ring(device, 4), carillon.Ring(device, 4, "to_host")
    mailbox = carillon.Mailbox(device, 4, b"1234", "to_host")
    chunk = carillon.ChunkRing(device, chunk_bytes=64).claim()
    memory = device.allocate(64)
    store = carillon.Store(device, bytes=1 << 20)
    buffer = store.create(64)
    done = carillon.ChunkRing(device, chunk_bytes=64).claim()
    done.commit()
    freed = device.allocate(64)
    freed.free()
    closed = carillon.Store(device, bytes=1 << 20)
    closed.close()
    calls: dict[str, Callable[[], Any]] = {
        "Client.call": lambda: kernel.client().call(b"1"),
        "Client.try_submit_many": lambda: kernel.client().try_submit_many(b"1"),
        "Ring.push": lambda: ring.push(b"1"),
        "Ring.try_push": lambda: back.try_push(b"1234"),
        "Ring.try_push_many": lambda: ring.try_push_many(b"1"),
        "Ring.pop": lambda: ring.pop(),
        "Ring.try_pop_many": lambda: ring.try_pop_many(1),
        "Mailbox.set": lambda: mailbox.set(b"1234"),
        "Ring": lambda: carillon.Ring(device, 4, capacity=3),
        "Chunk.fill": lambda: chunk.fill(b"12", 63),
        "Chunk.commit": lambda: chunk.commit(65),
        "Chunk.commit ": lambda: done.commit(),
        "Chunk.size": lambda: done.size,
        "Client.call_async": lambda: asyncio.run(kernel.client().call_async(b"1")),
        "DeviceArray": lambda: carillon.DeviceArray(freed),
        "Memory.array": lambda: freed.array(),
        "Store.list": lambda: closed.list(),
        "Memory.flush": lambda: memory.flush(65),
        "copy_to_device": lambda: carillon.copy_to_device(memory, bytes(65)),
        "copy_from_device": lambda: carillon.copy_from_device(bytearray(65), memory),
        "MutableBuffer.write": lambda: buffer.write(bytes(65)),
        "Store.get": lambda: store.get("nobody's"),
        "Store.create": lambda: store.create(2 << 20),
    }
    for name, call in calls.items():
        with pytest.raises(carillon.Error) as error:
            call()
        name = name.strip()  # of a second line for it
        assert error.value.call == name and str(error.value).startswith(f"{name}: ")
        assert "::" not in str(error.value) and "Bytes" not in str(error.value)


@pytest.mark.parametrize("value", [5, "5", None])
def test_messages_of_other_types_name_the_call(device: carillon.Device, value: Any) -> None:
    kernel = carillon.PersistentKernel(device, lambda tick: tick, request=TICK, reply=TICK)
    client = kernel.client()
    ring, back = carillon.Ring(device, TICK), carillon.Ring(device, TICK, "to_host")
    mailbox = carillon.Mailbox(device, TICK, (1, 2))
    mailbox_end = carillon.Mailbox(device, TICK, (1, 2), "to_host").emulated_end()
    ring_end = back.emulated_end()
    calls: dict[str, Callable[[], Any]] = {
        "Client.call": lambda: client.call(value),
        "Client.call_many": lambda: client.call_many(value),
        "Client.call_async": lambda: asyncio.run(client.call_async(value)),
        "Client.submit": lambda: client.submit(value),
        "Client.try_submit": lambda: client.try_submit(value),
        "Client.try_submit_many": lambda: client.try_submit_many(value),
        "Ring.push": lambda: ring.push(value),
        "Ring.try_push": lambda: ring.try_push(value),
        "Ring.try_push_many": lambda: ring.try_push_many(value),
        "RingDeviceEnd.try_push": lambda: ring_end.try_push(value),
        "Mailbox": lambda: carillon.Mailbox(device, TICK, value),
        "Mailbox.set": lambda: mailbox.set(value),
        "MailboxDeviceEnd.set": lambda: mailbox_end.set(value),
        "Chunk.commit": lambda: carillon.ChunkRing(device, TICK).claim().commit(1, value),
    }
    for name, call in calls.items():
        with pytest.raises(carillon.UsageError) as error:
            call()
        assert error.value.call == name and str(error.value).startswith(f"{name}: ")
    for many in (client.call_many, client.try_submit_many, ring.try_push_many):
        for values in ([value], np.zeros(1), np.zeros((1, 1), TICK), np.ma.zeros(1, TICK)):
            with pytest.raises(carillon.UsageError, match=f"^(Client|Ring).{many.__name__}: "):
                many(values)


@pytest.mark.parametrize("kind", ["no dtype", None, [], "S0", {"a": "f8"}, 0, "O", ("f4", 3)])
def test_message_types_that_are_none_name_the_call(device: carillon.Device, kind: Any) -> None:
    def both(tick: Any, quote: Any) -> None: ...

    calls: dict[str, Callable[[], Any]] = {
        "Ring": lambda: carillon.Ring(device, kind),
        "Mailbox": lambda: carillon.Mailbox(device, kind, (1, 2)),
        "compile_handler": lambda: carillon.compile_handler(90, both, request=kind, reply=TICK),
        "PersistentKernel": lambda: carillon.PersistentKernel(
            device, both, request=TICK, reply=kind
        ),
    }
    if kind is not None:
        calls["ChunkRing"] = lambda: carillon.ChunkRing(device, kind)
    for name, call in calls.items():
        with pytest.raises(carillon.UsageError) as error:
            call()
        assert error.value.call == name and str(error.value).startswith(f"{name}: ")


def test_errors_of_buffers_name_what_has_none(device: carillon.Device) -> None:
    chunk = carillon.ChunkRing(device, chunk_bytes=64).claim()
    chunk.commit()
    memory = device.allocate(64)
    memory.free()
    buffer = carillon.Store(device, bytes=1 << 20).create(64)
    buffer.seal()
    views: dict[str, Callable[[], Any]] = {
        "Chunk.__buffer__": lambda: chunk.array(),
        "Memory.__buffer__": lambda: memoryview(memory),
        "MutableBuffer.__buffer__": lambda: memoryview(buffer),  # type: ignore[arg-type]
    }
    for name, view in views.items():
        with pytest.raises(BufferError, match=f"^{name}: "):
            view()


def test_a_buffer_of_a_child_that_was_forked(device: carillon.Device) -> None:
    memory = device.allocate(64)
    buffer = carillon.Store(device, bytes=1 << 20).create(64).seal()
    child = os.fork()
    if child == 0:
        try:
            for each, name in ((memory, "Memory"), (buffer, "Buffer")):
                with pytest.raises(BufferError, match=rf"^{name}.__buffer__: .*fork"):
                    memoryview(each)  # type: ignore[arg-type]
            with pytest.raises(carillon.ForkError, match="^Memory.__array_interface__: "):
                np.asarray(memory.__array_interface__)
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_a_timeout_tells_whether_it_was_sent(device: carillon.Device) -> None:
    gate = Gate()
    client = carillon.PersistentKernel(device, gate, request=4, reply=4, capacity=2).client()
    try:
        with pytest.raises(carillon.TimeoutError) as sent:
            client.call(b"1234", 0.01)
        assert sent.value.sent
        kept = [client.submit(b"1234")]
        for call in (client.call, client.submit):
            with pytest.raises(carillon.TimeoutError) as unsent:
                call(b"1234", 0.01)
            assert not unsent.value.sent
        assert len(kept) == 1
    finally:
        gate.open()


class Gate:
    """A handler that answers once it is open."""

    def __init__(self) -> None:
        import threading

        self._opened = threading.Event()

    def open(self) -> None:
        self._opened.set()

    def __call__(self, data: bytes) -> bytes:
        self._opened.wait(30)
        return data


def raises(data: bytes) -> bytes:
    raise KeyError("the handler's")


def uses(client: carillon.Client, kernel: carillon.PersistentKernel) -> list[Callable[[], Any]]:
    return [
        lambda: client.call(b"1234"),
        lambda: client.call_many(b"1234"),
        lambda: asyncio.run(client.call_async(b"1234")),
        lambda: client.submit(b"1234"),
        lambda: kernel.running,
        lambda: kernel.drain(),
    ]


def test_what_a_handler_raised_is_the_cause(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, raises, request=4, reply=4)
    for use in uses(kernel.client(), kernel):
        with pytest.raises(carillon.Error, match="the handler raised KeyError") as error:
            use()
        cause = error.value.__cause__
        assert isinstance(cause, KeyError) and cause.args == ("the handler's",)
        frames = traceback.extract_tb(cause.__traceback__)
        assert frames[-1].name == "raises" and frames[-1].filename == __file__
        assert error.value.ended_kernel and error.value.call == "PersistentKernel"


def test_the_cause_of_a_call_that_was_under_way(device: carillon.Device) -> None:
    waits: list[Callable[[carillon.Client], Any]] = [
        lambda client: client.wait(client.submit(b"1234"), 60.0),
        lambda client: asyncio.run(client.call_async(b"1234", 60.0)),
        lambda client: client.call_many(b"1234" * 3, 60.0),
        poll,
        poll_many,
    ]
    for wait in waits:
        client = carillon.PersistentKernel(device, raises, request=4, reply=4).client()
        with pytest.raises(carillon.Error, match="the handler raised KeyError") as error:
            wait(client)
        assert isinstance(error.value.__cause__, KeyError)


def poll(client: carillon.Client) -> None:
    ticket = client.submit(b"1234")
    for _ in range(60_000):
        assert client.try_take(ticket) is None
        time.sleep(0.001)


def poll_many(client: carillon.Client) -> None:
    tickets = client.try_submit_many(b"12341234")
    for _ in range(60_000):
        assert len(client.try_take_many(tickets)) == 0
        time.sleep(0.001)


def test_a_kernel_whose_handler_raised_is_collected(device: carillon.Device) -> None:
    class Holds:
        kernel: carillon.PersistentKernel

        def __call__(self, data: bytes) -> bytes:
            raise KeyError("its frame has the handler, and the handler the kernel")

    handler = Holds()
    handler.kernel = carillon.PersistentKernel(device, handler, request=4, reply=4)
    with pytest.raises(carillon.Error):
        handler.kernel.client().call(b"1234")
    gone = weakref.ref(handler)
    del handler
    gc.collect()
    gc.collect()
    assert gone() is None


def test_tickets_that_go_free_their_slots(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    for _ in range(20):
        client.submit(b"1234")
    for _ in range(20):
        assert client.try_submit_many(b"12345678") is not None
        assert client.call(b"1234") == b"1234"
    assert client.counters.taken + client.counters.dropped >= 40

    def interrupted() -> None:
        ticket = client.submit(b"1234")
        raise ValueError(ticket)

    for _ in range(20):
        with pytest.raises(ValueError):
            interrupted()
    assert client.call(b"1234") == b"1234"


def test_tickets_that_stay_keep_their_replies(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    tickets = client.try_submit_many(b"abcdefgh")
    first, second = tickets[0], tickets[1]
    del tickets
    gc.collect()
    assert client.wait(second) == b"efgh"
    del second
    assert client.wait(first) == b"abcd"
    with pytest.raises(carillon.UsageError, match="^Client.wait: "):
        client.wait(first)
    ticket = client.submit(b"1234")
    client.abandon(ticket)
    del ticket
    assert client.call(b"1234") == b"1234"


def test_a_ticket_of_a_row_keeps_its_own_reply_alone(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, echo, request=4, reply=4, capacity=8)
    client = kernel.client()
    tickets = client.try_submit_many(b"abcdefghijklmnopqrst")
    last, again = tickets[4], tickets[4]
    assert last == again
    del tickets, again
    gc.collect()
    assert client.wait(last) == b"qrst"
    for _ in range(3 * client.capacity):  # every slot, with `last` still there
        assert client.call(b"1234") == b"1234"
    assert client.counters.dropped == 4


def test_the_last_ticket_of_a_row_that_goes_frees_its_slot(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, echo, request=4, reply=4, capacity=8)
    client = kernel.client()
    tickets = client.try_submit_many(b"abcdefgh")
    first = tickets[0]
    assert client.wait(tickets[1]) == b"efgh"  # of which nobody keeps the ticket
    del tickets, first
    gc.collect()
    for _ in range(3 * client.capacity):
        assert client.call(b"1234") == b"1234"
    assert client.counters.dropped == 1


def test_a_row_is_indexed_as_a_sequence(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    tickets = client.try_submit_many(b"abcdefghijkl")
    assert [ticket.number for ticket in tickets] == [tickets[i].number for i in range(3)]
    assert tickets[-1] == tickets[np.int64(2)] and tickets[-3] == tickets[0]
    for index in (3, -4, 1 << 64, -1 << 64):
        with pytest.raises(IndexError, match="^the index is beyond the last ticket$"):
            tickets[index]
    for other in (slice(0, 2), "0", 1.0, None):
        with pytest.raises(carillon.ArgumentTypeError, match="^Tickets.__getitem__: index is "):
            tickets[other]  # type: ignore[index]
    assert client.wait(tickets[-1]) == b"ijkl"


def test_a_row_whose_replies_were_taken_has_nothing_to_give_up(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, echo, request=4, reply=4, capacity=8)
    client = kernel.client()
    tickets = client.try_submit_many(b"abcdefgh")
    first = tickets[0]
    taken = b""
    while len(tickets):
        taken += client.try_take_many(tickets)
    assert taken == b"abcdefgh"
    del tickets
    with pytest.raises(carillon.UsageError, match="^Client.wait: "):
        client.wait(first)
    del first
    gc.collect()
    assert client.call(b"1234") == b"1234" and client.counters.dropped == 0


def test_a_ticket_that_outlives_its_client(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, echo, request=4, reply=4)
    ticket = kernel.client().submit(b"1234")
    del kernel
    gc.collect()
    del ticket


def test_print_shows_what_it_is(device: carillon.Device, kernel: carillon.PersistentKernel) -> None:
    store = carillon.Store(device, bytes=1 << 20)
    buffer = store.create(64, "prices")
    shown = [
        kernel,
        kernel.client(),
        kernel.client().counters,
        kernel.client().submit(b"1234"),
        carillon.Ring(device, TICK),
        carillon.Mailbox(device, TICK, (1, 2)),
        carillon.ChunkRing(device),
        carillon.ChunkRing(device).claim(),
        store,
        store.list()[0],
        buffer,
        buffer.seal(),
        store.sealed_events(),
        device.info,
        device.allocate(64),
    ]
    for each in shown:
        assert "object at 0x" not in repr(each) and repr(each).startswith("<carillon."), each
    assert "name='prices'" in repr(store.list()[0]) and "sealed" in repr(buffer)
    assert "(bid" not in repr(kernel) and "4 bytes to 4 bytes, running" in repr(kernel)


def copies_of(error: carillon.Error) -> list[Any]:
    return [copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))]


def test_a_copy_of_an_error_is_the_same() -> None:
    with pytest.raises(carillon.SystemError) as missing:
        carillon.connect("/nowhere/kernel.sock")
    for each in copies_of(missing.value):
        assert type(each) is carillon.SystemError and str(each) == str(missing.value)
        assert each.errno == each.code == errno.ENOENT and each.code_name == "ENOENT"
        assert each.call == missing.value.call and each.ended_kernel == missing.value.ended_kernel
    late = carillon.TimeoutError("late")
    late.sent = True
    assert all(each.sent for each in copies_of(late))


class Interrupted:
    """A number that Ctrl-C meets."""

    def __float__(self) -> float:
        raise KeyboardInterrupt

    __index__ = __float__  # type: ignore[assignment]


class Broken:
    def __float__(self) -> float:
        raise KeyError("its own")

    __index__ = __float__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("number", "raised"), [(Interrupted(), KeyboardInterrupt), (Broken(), KeyError)]
)
def test_what_an_argument_raises_is_not_lost(
    device: carillon.Device,
    kernel: carillon.PersistentKernel,
    number: Any,
    raised: type[BaseException],
) -> None:
    calls: list[Callable[[], Any]] = [
        lambda: kernel.client().call(b"1234", number),
        lambda: device.allocate(number),
        lambda: carillon.Store(device, bytes=1 << 20).get(number),
    ]
    for call in calls:
        with pytest.raises(raised):
            call()


def test_no_text_ends_at_a_byte_0(device: carillon.Device) -> None:
    with pytest.raises(carillon.Error, match=r"emu\\0lated.*"):
        carillon.Device("emu\0lated")

    def fail(data: bytes) -> bytes:
        raise ValueError("before\0behind")

    kernel = carillon.PersistentKernel(device, fail, request=4, reply=4)
    with pytest.raises(carillon.Error, match=r"ValueError: before\\0behind"):
        kernel.client().call(b"1234")


def test_a_kernel_is_shown_in_a_child_that_was_forked(kernel: carillon.PersistentKernel) -> None:
    child = os.fork()
    if child == 0:
        try:
            os._exit(7 if "of the process that forked" in repr(kernel) else 1)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7


def test_numbers_of_numpy_name_a_buffer(device: carillon.Device) -> None:
    store = carillon.Store(device, bytes=1 << 20)
    buffer = store.create(8, "there").seal()
    numbers: list[Any] = [np.int64(buffer.id), np.uint8(buffer.id), np.array(buffer.id)]
    for number in numbers:
        assert store.get(number).name == "there"
    below: Any = np.int64(-1)
    with pytest.raises(carillon.UsageError, match="^Store.get: id is"):
        store.get(below)
    store.remove(numbers[0])
    assert store.list() == []
