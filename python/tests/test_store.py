# SPDX-License-Identifier: Apache-2.0
"""Buffers of a store.

P is the test and has the store, C is another process:
1 P serves its store; C connects to it
2 C creates a buffer, writes and seals it
3 P hears of it, and reads it
"""

from __future__ import annotations

import ctypes
import gc
import math
import pathlib
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import carillon


@pytest.fixture
def store(device: carillon.Device) -> Iterator[carillon.Store]:
    store = carillon.Store(device, bytes=1 << 20)
    yield store
    store.close()


def test_write_seal_and_read(store: carillon.Store) -> None:
    written = store.create(800, "prices")
    view = np.asarray(written).view("f8")
    view[:] = np.arange(100)
    with pytest.raises(carillon.UsageError, match="views of the buffer still exist"):
        written.seal()
    del view
    gc.collect()
    written.write(np.array([7.0]), offset=8)
    sealed = written.seal()
    assert np.asarray(sealed).view("f8")[:3].tolist() == [0.0, 7.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(sealed)[0] = 1
    out = np.zeros(2)
    store.get("prices").read(out, offset=784)
    assert out.tolist() == [98.0, 99.0]
    with pytest.raises(carillon.UsageError):
        sealed.read(out, offset=785)


def test_views_that_nobody_counts(store: carillon.Store, tmp_path: pathlib.Path) -> None:
    with store.serve(str(tmp_path / "store.sock")) as _:
        other = carillon.connect_store(str(tmp_path / "store.sock"))
        for each in (store, other):
            written = each.create(8192)
            with pytest.raises(BufferError, match="pass memoryview"):
                np.ndarray(8192, "u1", written)  # type: ignore[call-overload]
            views: list[Callable[[Any], Any]] = [
                np.asarray,
                memoryview,
                (ctypes.c_ubyte * 8192).from_buffer,
                lambda of: np.frombuffer(of, "u1"),
                lambda of: np.ndarray(8192, "u1", memoryview(of)),
            ]
            for view in views:
                array = view(written)
                array[1] = 7
                with pytest.raises(carillon.UsageError, match="views of the buffer still exist"):
                    written.seal()
            with open("/dev/zero", "rb", buffering=0) as zeros:
                assert zeros.readinto(memoryview(written)[:1]) == 1
            del array
            gc.collect()
            sealed = written.seal()
            array = np.ndarray(8192, "u1", sealed)  # type: ignore[call-overload]
            del written, sealed
            gc.collect()
            assert array[:2].tolist() == [0, 7]


def test_refusals(store: carillon.Store) -> None:
    written = store.create(64, "a")
    with pytest.raises(carillon.RefusedError) as taken:
        store.create(64, "a")
    assert taken.value.reason == "name taken"
    with pytest.raises(carillon.RefusedError) as not_sealed:
        store.get(written.id)
    assert not_sealed.value.reason == "not sealed"
    with pytest.raises(carillon.RefusedError) as full:
        store.create(1 << 21)
    assert full.value.reason == "full"
    with pytest.raises(carillon.UsageError):
        store.create(0)
    with pytest.raises(carillon.UsageError):
        written.write(bytes(65))
    written.seal()
    for use in (lambda: written.size, lambda: written.write(b"1"), written.seal):
        with pytest.raises(carillon.UsageError, match="is sealed"):
            use()
    with pytest.raises(BufferError, match="is sealed"):
        memoryview(written)
    store.close()
    with pytest.raises(carillon.UsageError, match="closed"):
        store.list()


def test_with_closes_stores(device: carillon.Device, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "store.sock")
    with carillon.Store(device, bytes=1 << 20) as own, own.serve(path):
        with carillon.connect_store(path) as other:
            other.create(8, "kept").seal()
        with pytest.raises(carillon.UsageError, match="closed"):
            other.list()
        assert [each.name for each in own.list()] == ["kept"]
    with pytest.raises(carillon.UsageError, match="closed"):
        own.list()


def test_a_connection_has_its_owners_store(store: carillon.Store, tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "store.sock")
    with store.serve(path, name="desk"), carillon.connect(path) as owner:
        store.create(8, "there").seal()
        with owner.store() as other:
            assert other.get("there").size == 8
            with pytest.raises(carillon.UsageError, match="^Store.serve: .*another process"):
                other.serve(path + "2")
    with carillon.Server(name="desk") as server:
        server.open(path)
        with (
            carillon.connect(path) as owner,
            pytest.raises(carillon.RefusedError, match="^Connection.store: refused"),
        ):
            owner.store()
        with pytest.raises(carillon.RefusedError, match="^connect_store: refused"):
            carillon.connect_store(path)


def test_buffers_outlive_their_store(store: carillon.Store) -> None:
    written = store.create(4)
    written.write(b"1234")
    view = np.asarray(written.seal())
    store.close()
    del written
    gc.collect()
    assert bytes(view) == b"1234"


CLIENT = """
import sys, carillon
store = carillon.connect_store(sys.argv[1], name="writer")
table = store.create(8, "table")
table.write(b"12345678")
print(table.seal().id)
"""


def test_another_process(store: carillon.Store, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "store.sock"
    server = store.serve(str(path))
    events = store.sealed_events()
    assert events.next() is None and events.next(0.06) is None
    done = subprocess.run(
        [sys.executable, "-c", CLIENT, path], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert select.select([events], [], [], 30)[0] == [events]
    told = events.next(10.0)
    assert told is not None and (told.id, told.name) == (int(done.stdout), "table")
    assert bytes(store.get(told.id)) == b"12345678"
    (info,) = store.list()
    assert (info.name, info.size, info.sealed) == ("table", 8, True)
    store.remove("table")
    assert store.list() == []
    server.close()


def test_buffers_come_to_who_waits(store: carillon.Store, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "store.sock"
    server = store.serve(str(path))
    client = carillon.connect_store(str(path), copy_threads=1)
    here, there = store.sealed_buffers(), client.sealed_buffers()
    for each in (here, there):
        assert each.next() is None and each.next(0.06) is None
    for content in (b"1234", b"56789"):
        written = client.create(len(content))
        written.write(content)
        written.seal()
    for each in (here, there):
        assert select.select([each], [], [], 30)[0] == [each]
        assert [bytes(each.next(10.0)) for _ in range(2)] == [b"1234", b"56789"]
        assert each.missed == 0
    server.close()
    with pytest.raises(carillon.OwnerGoneError):
        there.next(10.0)


OWNER = """
import sys, carillon
store = carillon.Store(carillon.Device("emulated"), bytes=1 << 20)
server = store.serve(sys.argv[1])
print(flush=True)
sys.stdin.read()
"""


def test_what_goes_waits_for_no_store(tmp_path: pathlib.Path) -> None:
    path = str(tmp_path / "store.sock")
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", OWNER, path], **pipes) as owner:
        owner.stdout.readline()
        store = carillon.connect_store(path, timeout=math.inf)
        source = store.sealed_buffers()
        store.create(8).seal()
        held = [source.next(30.0), source]
        assert held[0] is not None
        del source
        owner.send_signal(signal.SIGSTOP)
        going = threading.Thread(target=held.pop)  # the source, whose buffer stays
        going.start()
        going.join(30.0)
        waits = going.is_alive()
        owner.kill()
    going.join(30.0)
    assert not waits


def test_nobody_listens(tmp_path: pathlib.Path) -> None:
    with pytest.raises(carillon.SystemError):
        carillon.connect_store(str(tmp_path / "store.sock"))
