# SPDX-License-Identifier: Apache-2.0
"""What a program does that type checkers know of: the test python.types checks this file, too."""

from __future__ import annotations

import numpy as np

import carillon


def test_memory_is_a_buffer_and_its_arrays_are_numpys(memory: carillon.Memory) -> None:
    array = memory.array(np.float32, (4, 4))
    array[:] = 1.5
    assert array[3, 3] == 1.5 and np.asarray(memory).size == memory.size
    assert memoryview(memory).nbytes == memory.size
    assert np.from_dlpack(memory).nbytes == memory.size


def test_buffers_of_a_store_are_buffers(device: carillon.Device) -> None:
    store = carillon.Store(device, bytes=1 << 20)
    buffer = store.create(4)
    memoryview(buffer)[:] = b"1234"
    number = np.int64(buffer.id)
    buffer.seal()
    assert bytes(store.get(number)) == b"1234" == bytes(memoryview(store.get(number)))
    store.remove(number)


def test_a_row_has_its_tickets(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, lambda asked: asked, request=4, reply=4) as kernel:
        client = kernel.client()
        tickets = client.try_submit_many(b"12345678")
        assert [client.wait(ticket) for ticket in tickets] == [b"1234", b"5678"]
        assert iter(tickets) is not iter(tickets) and tickets[np.int64(-1)] == tickets[1]
