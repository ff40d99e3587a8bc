# SPDX-License-Identifier: Apache-2.0
"""Kernels of other processes.

P serves a kernel with a handler in Python, C is the test:
1 P starts its kernel and serves it at a socket
2 C connects, and waits until P listens
3 C sends requests and gets replies
4 P is killed; C's next call is an OwnerGoneError
"""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

import carillon

OWNER = """
import sys, carillon
kernel = carillon.PersistentKernel(
    carillon.Device("emulated"), bytes.upper, request=8, reply=8, shared=True, blocks=2,
    request_name="desk::Word")
server = kernel.serve(sys.argv[1], "words")
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: pathlib.Path) -> pathlib.Path:
    return tmp_path / "words.sock"


@pytest.fixture
def owner(path: pathlib.Path) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([sys.executable, "-c", OWNER, path], stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def test_another_processes_kernel(path: pathlib.Path, owner: subprocess.Popen[bytes]) -> None:
    connection = carillon.connect(path, name="tests", wait_for_owner=60.0, timeout=60.0)
    assert connection.owner == carillon.Owner("words", owner.pid, os.getuid())
    client = connection.client(8, 8, "words")
    assert client.call(b"abcdefgh", 10.0) == b"ABCDEFGH"
    assert client.call_many(b"abcdefgh" * 500, 30.0) == b"ABCDEFGH" * 500
    (served,) = connection.status()
    assert served.name == "words" and served.emulated and served.state == "running"
    assert sorted(block.client for block in served.blocks) == ["", "tests"]
    connection.close()
    assert client.call(b"ijklmnop", 10.0) == b"IJKLMNOP"  # stays connected
    with pytest.raises(carillon.UsageError, match="closed"):
        connection.status()
    owner.kill()
    owner.wait()
    with pytest.raises(carillon.OwnerGoneError):
        client.call(b"abcdefgh", 10.0)


def test_refusals(path: pathlib.Path, owner: subprocess.Popen[bytes]) -> None:
    carillon.connect(path, wait_for_owner=60.0, timeout=60.0).close()
    # One that waits for its owner waits for what the owner may be about to serve, too.
    with carillon.connect(path, timeout=60.0) as connection:
        with pytest.raises(carillon.RefusedError) as unknown:
            connection.client(8, 8, "numbers")
        assert unknown.value.reason == "unknown object"
        with pytest.raises(carillon.RefusedError) as other_size:
            connection.client(16, 8, "words")
        assert other_size.value.reason == "wrong types"
        with pytest.raises(carillon.RefusedError) as other_name:
            connection.client(8, 8, "words", request_name="desk::Number")
        assert other_name.value.reason == "wrong types"
        kept = [connection.client(8, 8, "words", request_name="desk::Word") for _ in range(2)]
        with pytest.raises(carillon.RefusedError) as full:
            connection.client(8, 8, "words")
        assert full.value.reason == "full"
        assert [client.call(b"abcdefgh", 10.0) for client in kept] == [b"ABCDEFGH"] * 2


@pytest.mark.parametrize("shared", [True, False])
def test_names_of_types_that_cannot_be_printed(device: carillon.Device, shared: bool) -> None:
    with pytest.raises(carillon.UsageError, match="the name of the reply has a control character"):
        carillon.PersistentKernel(
            device, bytes.upper, request=8, reply=8, shared=shared, reply_name="\x1b[31m"
        )


def test_a_client_whose_type_has_a_name_that_cannot_be_printed(
    path: pathlib.Path, owner: subprocess.Popen[bytes]
) -> None:
    with carillon.connect(path, wait_for_owner=60.0, timeout=60.0) as connection:
        with pytest.raises(carillon.UsageError) as error:
            connection.client(8, 8, "words", request_name="a\nb")
        assert error.value.call == "Connection.client"
        assert "the name of the request has a control character" in str(error.value)


def test_nobody_listens(path: pathlib.Path) -> None:
    with pytest.raises(carillon.SystemError) as error:
        carillon.connect(path)
    assert isinstance(error.value, FileNotFoundError) or error.value.errno == 2
    with pytest.raises(OSError):
        carillon.connect(path, wait_for_owner=0.11)


def test_a_kernel_of_this_process_is_not_served(
    device: carillon.Device, path: pathlib.Path
) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=8, reply=8)
    with pytest.raises(carillon.UsageError):
        kernel.serve(path)


def test_with_closes_a_server(device: carillon.Device, path: pathlib.Path) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=8, reply=8, shared=True)
    with kernel.serve(path) as server, carillon.connect(path) as owner:
        assert server.path == str(path)
        assert owner.client(8, 8).call(b"abcdefgh", 10.0) == b"ABCDEFGH"
    with pytest.raises(carillon.UsageError, match="closed"):
        kernel.add_to(server, "again")


def test_owner_of_another_user_is_refused(
    device: carillon.Device, path: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=8, reply=8, shared=True)
    other = os.geteuid() + 1
    with kernel.serve(path), carillon.Store(device) as store:
        with carillon.connect(path, owner_user=os.geteuid()) as owner:
            assert owner.owner.user == os.geteuid()
        with pytest.raises(carillon.RefusedError) as refused:
            carillon.connect(path, owner_user=other)
        assert refused.value.reason == "wrong owner"
        served = store.serve(str(tmp_path / "store.sock"))
        with served, pytest.raises(carillon.RefusedError):
            carillon.connect_store(str(tmp_path / "store.sock"), owner_user=other)


def test_nobody_comes_in_before_a_server_is_open(
    device: carillon.Device, path: pathlib.Path
) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=8, reply=8, shared=True)
    with carillon.Server(name="desk") as server:
        kernel.add_to(server, "words")
        with pytest.raises(carillon.SystemError):
            carillon.connect(path)
        server.open(str(path))
        with carillon.connect(path) as owner:
            assert [served.name for served in owner.status()] == ["words"]
            client = owner.client(8, 8, "words")
            assert client.call(b"abcdefgh", 10.0) == b"ABCDEFGH"
            (block,) = owner.status()[0].blocks
            assert block.activity == "idle" and block.all.submitted == 1


def test_server_goes_before_its_kernel(device: carillon.Device, path: pathlib.Path) -> None:
    kernel = carillon.PersistentKernel(device, bytes.upper, request=8, reply=8, shared=True)
    server = carillon.Server(os.fspath(path))
    kernel.add_to(server, "words")
    client = carillon.connect(path).client(8, 8, "words")
    assert client.call(b"abcdefgh", 10.0) == b"ABCDEFGH"
    server.close()
    with pytest.raises(carillon.OwnerGoneError):
        for _ in range(100_000):  # what was on its way may be answered still
            client.call(b"abcdefgh", 10.0)
    with pytest.raises(carillon.UsageError, match="closed"):
        kernel.add_to(server, "again")


@pytest.mark.parametrize("kind", [str, os.fsencode, pathlib.Path])
def test_paths_of_any_bytes(device: carillon.Device, tmp_path: pathlib.Path, kind: Any) -> None:
    path = os.fspath(tmp_path / "\udcff.sock")
    of_store: Any = kind(os.fspath(tmp_path / "\udcfe.sock"))
    kernel = carillon.PersistentKernel(device, bytes, request=8, reply=8, shared=True)
    with kernel.serve(kind(path)) as server, carillon.connect(kind(path)) as connection:
        assert server.path == path
        assert connection.client(8, 8).call(b"abcdefgh", 10.0) == b"abcdefgh"
    store = carillon.Store(device, bytes=1 << 20)
    with store.serve(of_store), carillon.connect_store(of_store) as other:
        assert other.list() == []
    for connect in (carillon.connect, carillon.connect_store):
        with pytest.raises(carillon.SystemError, match=r"xfd.sock: ENOENT"):
            connect(kind(os.fspath(tmp_path / "\udcfd.sock")))


@pytest.mark.parametrize("ask", ["client", "ring", "mailbox", "chunk_ring", "log", "owner"])
def test_a_closed_connection_names_the_call(
    path: pathlib.Path, device: carillon.Device, ask: str
) -> None:
    kernel = carillon.PersistentKernel(device, bytes, request=8, reply=8, shared=True)
    types: dict[str, tuple[Any, ...]] = {"client": (8, 8), "ring": ("x", 8), "mailbox": ("x", 8)}
    with kernel.serve(path):
        connection = carillon.connect(path)
        connection.close()
        with pytest.raises(carillon.UsageError, match="closed") as error:
            getattr(connection, ask)(*types.get(ask, ("x",)))
        assert error.value.call == f"Connection.{ask}"
        for wrong in ({"a": "f8"}, 0):
            if ask in ("log", "owner"):
                continue
            with pytest.raises(carillon.UsageError) as error:
                getattr(connection, ask)(
                    *[wrong if each == 8 else each for each in types.get(ask, ("x", 8))]
                )
            assert error.value.call == f"Connection.{ask}"
