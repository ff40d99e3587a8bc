# SPDX-License-Identifier: Apache-2.0
"""Sets limits of a kernel in another process, streams chunks to it, and reads status and log.

Usage: heaps.py PATH, where tests/c/objects_owner.cpp shares its objects at PATH.
"""

import sys
import time

import numpy as np

import carillon

LIMITS = np.dtype([("most", "<u4"), ("least", "<u4")])
STATUS = np.dtype([("chunks", "<u8"), ("sum", "<u8"), ("limits", LIMITS)])


def stream(owner: carillon.Connection) -> None:
    samples = np.zeros(2048, "<u2")
    limits = owner.mailbox("limits", LIMITS)
    status = owner.mailbox("status", STATUS, "to_host")
    heaps = owner.chunk_ring("heaps", "<u8")  # a number beside each chunk
    log = owner.log("log")

    limits.set((100, 0))
    for number in range(3):
        chunk = heaps.claim(timeout=10.0)
        chunk.array("<u2")[:] = samples + number  # in place: no copy
        chunk.commit(meta=number)
        message = log.next(timeout=10.0)
        print(message.text if message else "the kernel said nothing")
    now = None
    while now is None or now["chunks"] < 3:
        time.sleep(0.001)
        now = status.refresh()
    print("chunks", now["chunks"], "sum", now["sum"], "limits", now["limits"])


with carillon.connect(sys.argv[1], wait_for_owner=10.0) as connection:
    while len(connection.status()) < 4:  # it shares one after the other
        time.sleep(0.001)
    stream(connection)
