# SPDX-License-Identifier: Apache-2.0
"""Clients and kernels with a handler in Python, on the emulated device."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import numpy as np
import pytest

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
MID = np.dtype([("mid", "<f8")])


def mid_of(tick: Any) -> Any:
    return ((tick["bid"] + tick["ask"]) / 2,)


@pytest.fixture
def kernel(device: carillon.Device) -> Iterator[carillon.PersistentKernel]:
    with carillon.PersistentKernel(device, mid_of, request=TICK, reply=MID, capacity=16) as kernel:
        yield kernel


def test_call_of_structured_types(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    assert client.call((4810.0, 4810.5))["mid"] == 4810.25
    assert client.call(np.array((1.0, 2.0), TICK))["mid"] == 1.5
    assert client.call(np.array([(3.0, 5.0)], TICK)[0], timeout=0.04)["mid"] == 4.0
    assert kernel.running and kernel.state == "running" and kernel.blocks == 1
    assert client.counters.submitted == 3 and client.all_answered
    client.warm()


@dataclasses.dataclass
class Order:
    price: float
    size: Annotated[int, "u4"]
    buy: bool


@dataclasses.dataclass
class Fill:
    cost: float


def test_dataclasses(device: carillon.Device) -> None:
    def fill(order: Order) -> Fill:
        return Fill(order.price * order.size * (1 if order.buy else -1))

    with carillon.PersistentKernel(device, fill, request=Order, reply=Fill) as kernel:
        client = kernel.client()
        assert client.call(Order(2.5, 4, True)) == Fill(10.0)
        assert client.call_many([Order(1.0, 1, False)] * 300) == [Fill(-1.0)] * 300
        with pytest.raises(carillon.UsageError, match="the message is a Fill, not a Order"):
            client.call(Fill(1.0))
        with pytest.raises(carillon.UsageError, match="Order"):
            client.call(Order(1.0, -1, True))


def test_bytes(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, bytes.upper, request=5, reply=5) as kernel:
        client = kernel.client()
        assert client.call(b"hello") == b"HELLO"
        assert client.call(bytearray(b"world")) == b"WORLD"
        assert client.call_many(b"abcdefghij") == b"ABCDEFGHIJ"


def test_tickets(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    first = client.submit((1.0, 3.0))
    second = client.try_submit((2.0, 4.0))
    assert second is not None and first != second
    assert client.wait(second)["mid"] == 3.0
    assert client.wait(first)["mid"] == 2.0
    with pytest.raises(carillon.UsageError):
        client.try_take(first)  # taken
    dropped = client.submit((0.0, 0.0))
    client.abandon(dropped)
    assert client.call((5.0, 7.0))["mid"] == 6.0


def test_tickets_that_cannot_be_given_up(
    device: carillon.Device, kernel: carillon.PersistentKernel
) -> None:
    client = kernel.client()
    taken, abandoned = client.submit((1.0, 3.0)), client.submit((1.0, 3.0))
    client.wait(taken)
    client.abandon(abandoned)
    other = carillon.PersistentKernel(device, bytes.upper, request=1, reply=1).client()
    foreign = other.submit(b"a")
    for ticket, text in ((taken, "outstanding"), (abandoned, "outstanding"), (foreign, "another")):
        with pytest.raises(carillon.UsageError, match=f"Client.abandon: .*{text}"):
            client.abandon(ticket)
        assert client.call((5.0, 7.0))["mid"] == 6.0
    assert client.counters.dropped == 1
    assert other.wait(foreign) == b"A"
    for _ in range(100):  # over its capacity
        client.abandon(client.submit((0.0, 0.0)))


def test_rows(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    ticks = np.zeros(1000, TICK)
    ticks["bid"] = np.arange(1000)
    ticks["ask"] = np.arange(1000) + 1
    replies = client.call_many(ticks, timeout=10.0)
    assert replies.dtype == MID and np.array_equal(replies["mid"], np.arange(1000) + 0.5)
    tickets = client.try_submit_many(ticks)
    assert 0 < len(tickets) <= client.capacity
    taken = []
    while len(tickets):
        taken += [reply["mid"] for reply in client.try_take_many(tickets)]
    assert taken[:3] == [0.5, 1.5, 2.5]
    assert len(client.call_many(ticks[:0])) == 0


def test_a_signals_handler_has_no_call_within_a_call(device: carillon.Device) -> None:
    seen, said = threading.Event(), list[str]()

    def calls(*_: Any) -> None:
        with pytest.raises(carillon.UsageError) as caught:
            client.call(b"1234")
        said.append(str(caught.value))
        seen.set()

    def interrupts(data: bytes) -> bytes:
        os.kill(os.getpid(), signal.SIGALRM)
        assert seen.wait(10)
        return data

    client = carillon.PersistentKernel(device, interrupts, request=4, reply=4).client()
    before = signal.signal(signal.SIGALRM, calls)
    try:
        assert client.call(b"abcd", timeout=30) == b"abcd"
    finally:
        signal.signal(signal.SIGALRM, before)
    cause = "another thread is in a call of this object, or a signal interrupted one"
    assert said == [f"Client.call: {cause}: give each thread its own object, or hold a lock"]


def test_errors_name_the_call(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=4, reply=4)
    client = kernel.client()
    taken = client.submit(b"abcd")
    client.wait(taken)
    calls: dict[str, Callable[[Any], object]] = {
        "call": client.call,
        "submit": client.submit,
        "try_submit": client.try_submit,
        "try_submit_many": client.try_submit_many,
        "call_many": client.call_many,
    }
    for name, call in calls.items():
        with pytest.raises(carillon.UsageError, match=f"^Client.{name}: ") as wrong:
            call(b"abc")
        assert wrong.value.call == f"Client.{name}"
    for name in ("wait", "try_take"):
        with pytest.raises(carillon.UsageError, match=f"^Client.{name}: no reply"):
            getattr(client, name)(taken)
    kernel.stop()
    for name, call in calls.items():
        with pytest.raises(carillon.StoppedError, match=f"^Client.{name}: the kernel was stopped"):
            call(b"abcd")


def test_wrong_messages(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    with pytest.raises(carillon.UsageError, match="of dtype"):
        client.call(np.zeros(1, MID)[0])
    with pytest.raises(carillon.UsageError, match="of dtype"):
        client.call_many(np.zeros(4, "f4"))
    with pytest.raises(carillon.UsageError, match="dimensions"):
        client.call_many(np.zeros((2, 2), TICK))
    with pytest.raises(carillon.UsageError, match="16"):
        client._raw.call(b"1", 1.0)
    with pytest.raises(carillon.UsageError, match="do not hold the same number"):
        client._raw.call_many(bytes(32), bytearray(8), 1.0)
    with pytest.raises((TypeError, ValueError)):
        client.call(("a", 2.0))
    assert client.call((1.0, 3.0))["mid"] == 2.0  # nothing of it was sent


@pytest.mark.parametrize("timeout", [-1.0, float("nan")])
def test_timeouts_that_are_none(kernel: carillon.PersistentKernel, timeout: float) -> None:
    with pytest.raises(carillon.UsageError, match="seconds from 0 or"):
        kernel.client().call((1.0, 3.0), timeout)


@pytest.mark.parametrize("message", [0, 1025, -1, "V1025", "O", object(), [("a", "O")]])
def test_types_that_are_none(device: carillon.Device, message: object) -> None:
    with pytest.raises(carillon.UsageError):
        carillon.PersistentKernel(device, mid_of, request=message, reply=MID)


def test_dataclasses_that_are_no_types(device: carillon.Device) -> None:
    @dataclasses.dataclass
    class Named:
        name: str

    with pytest.raises(carillon.UsageError, match="Named.name is of"):
        carillon.PersistentKernel(device, mid_of, request=Named, reply=MID)


@pytest.mark.parametrize("scalar", [">u4", np.longdouble, "V8", "c8", "S4", "M8[s]"])
def test_members_that_a_dataclass_cannot_have(device: carillon.Device, scalar: object) -> None:
    made = dataclasses.make_dataclass("Made", [("member", Annotated[int, scalar])])
    with pytest.raises(
        carillon.UsageError, match="Made.member is of .*use a dtype for other members"
    ):
        carillon.PersistentKernel(device, mid_of, request=made, reply=MID)
    order = np.dtype([("size", ">u4")])
    with carillon.PersistentKernel(device, lambda asked: asked, request=order, reply=order) as same:
        assert same.client().call((7,))["size"] == 7


def test_a_handler_that_cannot_be_called(device: carillon.Device) -> None:
    with pytest.raises(
        carillon.UsageError, match="^PersistentKernel: handler is 3: expected a callable$"
    ):
        carillon.PersistentKernel(device, 3, request=8, reply=8)  # type: ignore[arg-type]


def test_a_handler_that_raises(device: carillon.Device) -> None:
    def fail(tick: Any) -> Any:
        raise KeyError("no such book")

    kernel = carillon.PersistentKernel(device, fail, request=TICK, reply=MID)
    with pytest.raises(carillon.Error, match="KeyError: 'no such book'"):
        kernel.client().call((1.0, 2.0), timeout=10.0)
    assert kernel.state == "failed"
    with pytest.raises(carillon.Error, match="no such book"):
        _ = kernel.running


def test_a_handler_that_answers_nonsense(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, lambda data: b"123", request=8, reply=8)
    with pytest.raises(carillon.Error, match="3 bytes, but a reply has 8"):
        kernel.client().call(bytes(8), timeout=10.0)


def test_a_stopped_kernel(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    kernel.stop()
    assert kernel.state == "stopped"
    with pytest.raises(carillon.StoppedError):
        client.call((1.0, 2.0), timeout=10.0)
    kernel.stop()


def test_drain(kernel: carillon.PersistentKernel) -> None:
    ticket = kernel.client().submit((1.0, 3.0))
    kernel.drain()
    assert kernel.client().wait(ticket)["mid"] == 2.0


@pytest.mark.parametrize("timeout", [0.02, 0.3])
def test_errors_tell_the_timeout_that_was_given(device: carillon.Device, timeout: float) -> None:
    opened = threading.Event()

    def wait(data: bytes) -> bytes:
        opened.wait(30)
        return data

    kernel = carillon.PersistentKernel(device, wait, request=1, reply=1)
    kernel.client().submit(b"a")
    given = f"{int(timeout * 1e3)} ms"
    with pytest.raises(carillon.TimeoutError, match=f"drain: .* unanswered after {given}: "):
        kernel.drain(timeout)
    with pytest.raises(carillon.TimeoutError, match=f"stop: .* not ended within {given}; a"):
        kernel.stop(timeout)
    opened.set()
    kernel.stop()


class Gate:
    """A handler that answers when it is told to."""

    def __init__(self) -> None:
        self.opened = threading.Event()

    def __call__(self, data: bytes) -> bytes:
        self.opened.wait(30)
        return data


@pytest.fixture
def gate() -> Iterator[Gate]:
    gate = Gate()
    yield gate
    gate.opened.set()


@pytest.mark.parametrize("timeout", [0.0, 0.01, 0.12])
def test_timeouts(device: carillon.Device, gate: Gate, timeout: float) -> None:
    kernel = carillon.PersistentKernel(device, gate, request=8, reply=8, capacity=2)
    client = kernel.client()
    with pytest.raises(carillon.TimeoutError) as error:
        client.call(bytes(8), timeout)
    assert error.value.sent and isinstance(error.value, TimeoutError)
    ticket = client.try_submit(b"12345678")
    assert ticket is not None
    with pytest.raises(carillon.TimeoutError):
        client.wait(ticket, timeout)
    with pytest.raises(carillon.TimeoutError):
        client.call_many(bytes(64), timeout)
    gate.opened.set()
    assert client.wait(ticket, 10.0) == b"12345678"
    assert client.call(b"abcdefgh", 10.0) == b"abcdefgh"


def test_two_threads_in_one_client(device: carillon.Device, gate: Gate) -> None:
    kernel = carillon.PersistentKernel(device, gate, request=8, reply=8)
    client = kernel.client()
    replies: list[bytes] = []
    thread = threading.Thread(target=lambda: replies.append(client.call(bytes(8), 30.0)))
    thread.start()
    while client.counters.submitted == 0:
        pass
    with pytest.raises(carillon.UsageError, match="another thread"):
        kernel.client().call(bytes(8))
    gate.opened.set()
    thread.join()
    assert replies == [bytes(8)]


def test_blocks_have_a_channel_each(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, bytes.upper, request=1, reply=1, blocks=2) as kernel:
        assert [kernel.client(block).call(b"a") for block in (0, 1)] == [b"A", b"A"]
        with pytest.raises(carillon.UsageError, match="there is no channel"):
            kernel.client(2)


def test_asyncio(device: carillon.Device) -> None:
    async def ask(client: carillon.Client) -> list[Any]:
        calls = [client.call_async((float(i), float(i + 2)), 10.0) for i in range(40)]
        return await asyncio.gather(*calls)

    with carillon.PersistentKernel(device, mid_of, request=TICK, reply=MID, capacity=8) as kernel:
        replies = asyncio.run(ask(kernel.client()))
    assert [reply["mid"] for reply in replies] == [i + 1.0 for i in range(40)]


def test_asyncio_timeouts_and_cancelling(device: carillon.Device, gate: Gate) -> None:
    kernel = carillon.PersistentKernel(device, gate, request=8, reply=8, capacity=2)
    client = kernel.client()

    async def ask() -> bytes:
        with pytest.raises(
            carillon.TimeoutError, match="no reply came before the timeout"
        ) as error:
            await client.call_async(bytes(8), 0.01)
        assert error.value.sent
        cancelled = asyncio.ensure_future(client.call_async(bytes(8), 30.0))
        await asyncio.sleep(0.01)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        with pytest.raises(carillon.TimeoutError, match="no slot became free") as full:
            await client.call_async(bytes(8), 0.01)
        assert not full.value.sent
        gate.opened.set()
        return await client.call_async(b"12345678", 10.0)

    assert asyncio.run(ask()) == b"12345678"


def test_coroutines_that_are_closed(device: carillon.Device, gate: Gate) -> None:
    kernel = carillon.PersistentKernel(device, gate, request=8, reply=8, capacity=2)
    client = kernel.client()

    async def close_two() -> None:
        for _ in range(2):
            call = client.call_async(bytes(8), 30.0)
            call.send(None)  # sent; it looks for the reply now
            call.close()

    asyncio.run(close_two())
    assert client.counters.submitted == 2
    gate.opened.set()
    assert client.call(b"12345678", 10.0) == b"12345678"


def test_a_coroutine_that_goes_while_a_thread_calls(device: carillon.Device, gate: Gate) -> None:
    kernel = carillon.PersistentKernel(device, gate, request=8, reply=8, capacity=2)
    client = kernel.client()

    async def begun() -> Any:
        call = client.call_async(bytes(8), 30.0)
        call.send(None)
        return call

    call = asyncio.run(begun())
    thread = threading.Thread(target=client.call, args=(b"abcdefgh", 30.0))
    thread.start()
    while client.counters.submitted < 2:
        pass
    call.close()
    gate.opened.set()
    thread.join()
    for _ in range(3):
        assert client.call(b"12345678", 10.0) == b"12345678"
    assert client.counters.depth == 0


KERNEL_OWNER = """
import sys, carillon
kernel = carillon.PersistentKernel(
    carillon.Device("emulated"), bytes.upper, request=8, reply=8, shared=True)
server = kernel.serve(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""
STORE_OWNER = """
import sys, carillon
store = carillon.Store(carillon.Device("emulated"), bytes=1 << 20)
server = store.serve(sys.argv[1])
store.create(8, "there").seal()
print(flush=True)
sys.stdin.read()
"""
INTERRUPTED = """
import os, signal, subprocess, sys, tempfile, threading, carillon
opened = threading.Event()
def gate(data):
    opened.wait(60)
    return data
device = carillon.Device("emulated")
kernel = carillon.PersistentKernel(device, gate, request=8, reply=8, capacity=2)
client, ring = kernel.client(), carillon.Ring(carillon.Device("emulated"), 8, "to_host")
ticket = client.submit(bytes(8))
def owned(program, folder=tempfile.TemporaryDirectory()):
    path = os.path.join(folder.name, str(len(os.listdir(folder.name))))
    owner = subprocess.Popen([sys.executable, "-c", program, path], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    owner.stdout.readline()
    return path, owner
kernel_path, kernel_owner = owned(sys.argv[1])
store_path, store_owner = owned(sys.argv[2])
owner = carillon.connect(kernel_path, timeout=600.0)
store = carillon.connect_store(store_path, timeout=600.0)
written, there = store.create(8), store.get("there")
kernel_owner.send_signal(signal.SIGSTOP)
store_owner.send_signal(signal.SIGSTOP)
waits = {
    "call": lambda: client.call(bytes(8), 600.0),
    "wait": lambda: client.wait(ticket, 600.0),
    "call_many": lambda: client.call_many(bytes(800), 600.0),
    "submit": lambda: [client.submit(bytes(8), 600.0) for _ in range(9)],
    "pop": lambda: ring.pop(600.0),
    "connect": lambda: carillon.connect("/tmp/nobody-listens-here", wait_for_owner=600.0),
    "drain": lambda: kernel.drain(600.0),
    "connect_stopped": lambda: carillon.connect(kernel_path, timeout=600.0),
    "connection_client": lambda: owner.client(8, 8),
    "connection_ring": lambda: owner.ring("ring", 8),
    "connection_mailbox": lambda: owner.mailbox("mailbox", 8),
    "connection_chunk_ring": lambda: owner.chunk_ring("chunks"),
    "connection_log": lambda: owner.log(),
    "connection_status": lambda: owner.status(),
    "connect_store": lambda: carillon.connect_store(store_path, timeout=600.0),
    "seal": lambda: written.seal(),
    "create": lambda: store.create(8),
    "get": lambda: store.get("there"),
    "get_by_id": lambda: store.get(1),
    "remove": lambda: store.remove("there"),
    "remove_by_id": lambda: store.remove(1),
    "list": lambda: store.list(),
    "sealed_events": lambda: store.sealed_events(),
    "sealed_buffers": lambda: store.sealed_buffers(),
}
for name, wait in waits.items():
    threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        wait()
    except KeyboardInterrupt:
        print(name, flush=True)
opened.set()
try:
    written.write(b"1")
except carillon.UsageError as error:
    print(error, file=sys.stderr)
kernel_owner.kill()
if sys.argv[3] == "killed":
    store_owner.kill()
    store_owner.wait()
    while True:  # threads of calls that were given up end, and what they have goes
        try:
            store.list()
        except carillon.OwnerGoneError:
            break
else:  # nobody waits for those calls at exit, nor for what they keep from going
    print(store_owner.pid, file=sys.stderr)
"""


@pytest.mark.parametrize("store_owner", ["killed", "stopped"])
def test_ctrl_c_ends_every_wait(store_owner: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, KERNEL_OWNER, STORE_OWNER, store_owner],
        capture_output=True,
        text=True,
        timeout=100,
    )
    said = done.stderr.split("\n")
    if store_owner == "stopped" and len(said) > 1:
        os.kill(int(said[1]), signal.SIGKILL)
    assert done.stdout.split() == [
        "call",
        "wait",
        "call_many",
        "submit",
        "pop",
        "connect",
        "drain",
        "connect_stopped",
        "connection_client",
        "connection_ring",
        "connection_mailbox",
        "connection_chunk_ring",
        "connection_log",
        "connection_status",
        "connect_store",
        "seal",
        "create",
        "get",
        "get_by_id",
        "remove",
        "remove_by_id",
        "list",
        "sealed_events",
        "sealed_buffers",
    ], done.stderr
    assert done.returncode == 0, done.stderr
    assert said[0].startswith("MutableBuffer.write: its seal() was interrupted"), done.stderr


def test_objects_go_in_any_order(device: carillon.Device) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=1, reply=1)
    client = kernel.client()
    del kernel
    gc.collect()
    assert client.call(b"a") == b"A"
    del client
    gc.collect()


def test_a_kernel_that_its_handler_knows_is_collected(device: carillon.Device) -> None:
    class Desk:
        def __init__(self) -> None:
            self.kernel = carillon.PersistentKernel(device, self.serve, request=1, reply=1)
            self.client = self.kernel.client()

        def serve(self, data: bytes) -> bytes:
            return data

    desk = Desk()
    assert desk.client.call(b"a") == b"a"
    gone = weakref.ref(desk)
    del desk
    gc.collect()
    assert gone() is None


def test_a_client_of_a_kernel_that_was_collected(device: carillon.Device) -> None:
    raw = carillon.PersistentKernel(device, bytes.upper, request=1, reply=1).client()._raw
    gc.collect()
    with pytest.raises(carillon.UsageError, match="^Client.call: the kernel was closed"):
        raw.call(b"a", 1.0)


def run_to_its_end(program: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=timeout
    )


def test_a_kernel_left_running_at_exit() -> None:
    done = run_to_its_end(
        "import carillon\n"
        "kernel = carillon.PersistentKernel(\n"
        "    carillon.Device('emulated'), lambda data: data.upper(), request=1, reply=1)\n"
        "client = kernel.client()\n"
        "print(client.call(b'a'))\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "b'A'\n", "")


AT_EXIT = """
import sys, threading, time, carillon
begun = threading.Event()
def busy(data):
    begun.set()
    while True:
        {body}
kernel = carillon.PersistentKernel(carillon.Device("emulated"), busy, request=1, reply=1)
client = kernel.client()
client.submit(b"a")
begun.wait()
print("ends", flush=True)
sys.exit(3)
"""


@pytest.mark.parametrize(
    "body",
    [
        "pass",
        "time.sleep(.0001)",
        "time.sleep(1000)",
        "threading.Event().wait(.001)",
        "client.counters; carillon.Ring(carillon.Device('emulated'), 8, 'to_host').try_pop()",
        "try: time.sleep(.0001)\n        except BaseException: pass",
    ],
)
def test_a_handler_that_is_busy_at_exit(body: str) -> None:
    done = run_to_its_end(AT_EXIT.format(body=body), 30)
    assert (done.returncode, done.stdout, done.stderr) == (3, "ends\n", "")


@pytest.mark.parametrize("blocks", [1, 4])
def test_requests_that_are_under_way_at_exit(blocks: int) -> None:
    for _ in range(3):
        done = run_to_its_end(
            "import carillon\n"
            "def client(block=0):\n"
            "    global kernel\n"
            f"    return carillon.PersistentKernel(carillon.Device('emulated'), bytes.upper,\n"
            f"        request=1, reply=1, blocks={blocks}).client(block)\n"
            f"clients = [client(block) for block in range({blocks})]\n"
            "for each in clients:\n"
            "    for _ in range(200): each.submit(b'a')\n"
        )
        assert (done.returncode, done.stderr) == (0, "")


def test_a_thread_that_waits_at_exit() -> None:
    done = run_to_its_end(
        "import threading, time, carillon\n"
        "ring = carillon.Ring(carillon.Device('emulated'), 8, 'to_host')\n"
        "threading.Thread(target=lambda: ring.pop(600.0), daemon=True).start()\n"
        "time.sleep(.1)\n"
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("call", ["call(b'a', 20.0)", "call_many(b'a' * 50, 20.0)"])
def test_threads_that_call_at_exit(call: str) -> None:
    done = run_to_its_end(
        "import threading, time, carillon\n"
        "def loop(client):\n"
        f"    while True: client.{call}\n"  # which ends it when the kernel has ended
        "for _ in range(4):\n"
        "    kernel = carillon.PersistentKernel(\n"
        "        carillon.Device('emulated'), bytes.upper, request=1, reply=1)\n"
        "    threading.Thread(target=loop, args=(kernel.client(),), daemon=True).start()\n"
        "time.sleep(.3)\n"
    )
    assert done.returncode == 0 and "nanobind" not in done.stderr


def test_an_error_that_cannot_be_described(device: carillon.Device) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError("no text")

    class Surrogate(Exception):
        def __str__(self) -> str:
            return "\udcff"

    for error, text in ((Odd(), "the handler raised Odd: "), (Surrogate(), r"Surrogate: \\udcff")):

        def fail(data: bytes, error: Exception = error) -> bytes:
            raise error

        kernel = carillon.PersistentKernel(device, fail, request=1, reply=1)
        with pytest.raises(carillon.Error, match=text):
            kernel.client().call(b"a", 10.0)


def test_a_forked_child_gets_an_error(kernel: carillon.PersistentKernel) -> None:
    client = kernel.client()
    child = os.fork()
    if child == 0:
        try:
            client.call((1.0, 2.0))
        except carillon.ForkError:
            os._exit(7)
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert client.call((1.0, 2.0))["mid"] == 1.5


def test_signals_are_pythons_again() -> None:
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.call(bytes(8), 5.0),
        lambda client: client.submit(bytes(8), 5.0),
        lambda client: client.call_many(bytes(24), 5.0),
    ],
)
def test_a_ticket_that_another_thread_drops_makes_room_for_a_call_that_waits(
    device: carillon.Device, call: Callable[[carillon.Client], Any]
) -> None:
    kernel = carillon.PersistentKernel(device, bytes, request=8, reply=8, capacity=2)
    client = kernel.client()
    held = [client.submit(bytes(8)), client.submit(bytes(8))]

    def drop() -> None:
        while client.counters.stalls == 0:
            pass
        held.clear()

    thread = threading.Thread(target=drop)
    thread.start()
    call(client)
    thread.join()
    assert not held


@pytest.mark.parametrize("timeout", [0.01, 0.12])
def test_calls_that_sent_nothing_say_what_has_the_room(
    device: carillon.Device, timeout: float
) -> None:
    kernel = carillon.PersistentKernel(device, bytes, request=8, reply=8, capacity=2)
    client = kernel.client()
    held = [client.submit(bytes(8)), client.submit(bytes(8))]
    calls: list[Callable[[], Any]] = [
        lambda: client.call(bytes(8), timeout),
        lambda: client.submit(bytes(8), timeout),
        lambda: client.call_many(bytes(24), timeout),
        lambda: asyncio.run(client.call_async(bytes(8), timeout)),
    ]
    while not client.all_answered:
        pass
    for call in calls:
        with pytest.raises(carillon.TimeoutError, match="holds the reply to request") as error:
            call()
        assert not error.value.sent
    assert client.counters.submitted == len(held)
    assert client.wait(held.pop(0)) == bytes(8)
    with pytest.raises(carillon.TimeoutError, match="replies did not come") as sent:
        client.call_many(bytes(24), timeout)
    assert sent.value.sent


def fails(data: bytes) -> bytes:
    raise ValueError("the handler's")


@pytest.mark.parametrize("error", [KeyError("mine"), SystemExit(4), KeyboardInterrupt()])
def test_a_with_ends_by_the_error_of_its_body(
    device: carillon.Device, error: BaseException
) -> None:
    def failed() -> carillon.PersistentKernel:
        kernel = carillon.PersistentKernel(device, fails, request=1, reply=1)
        with pytest.raises(carillon.Error):
            kernel.client().call(b"a")
        return kernel

    with pytest.raises(type(error)) as raised, failed():
        raise error
    assert raised.value is error
    if sys.version_info >= (3, 11):
        assert "the handler raised ValueError" in raised.value.__notes__[0]
    with pytest.raises(carillon.Error, match="the handler raised ValueError"), failed():
        pass


LOADED_AGAIN = """
import sys
import carillon
for name in [name for name in sys.modules if name.startswith("carillon")]:
    del sys.modules[name]
try:
    import carillon as again
except ImportError as error:
    print(error)
try:
    carillon.connect("/nowhere/kernel.sock")
except carillon.SystemError:
    print("caught")
"""
LOADED_ELSEWHERE = """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
if sys.version_info >= (3, 13):
    other = interpreters.create("legacy")
else:
    other = interpreters.create(isolated=False)
interpreters.run_string(other, '''
import warnings
warnings.simplefilter("ignore")
try:
    import carillon
except ImportError as error:
    print(error, flush=True)
''')
import carillon
try:
    carillon.connect("/nowhere/kernel.sock")
except carillon.SystemError:
    print("caught")
"""


@pytest.mark.parametrize(
    ("program", "text"),
    [(LOADED_AGAIN, "a second time in a process"), (LOADED_ELSEWHERE, "interpreter")],
)
def test_the_extension_is_loaded_once(program: str, text: str) -> None:
    done = run_to_its_end(program)
    refused, caught = done.stdout.split("\n")[:2]
    assert text in refused and caught == "caught", done.stderr
    assert done.returncode == 0, done.stderr
