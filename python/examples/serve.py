# SPDX-License-Identifier: Apache-2.0
"""Owns a kernel that other processes command, and starts one of them.

Usage: serve.py          owns and serves
       serve.py PATH     is a client of the owner at PATH
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy as np

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype("<f8")


def reprice(tick: np.void) -> float:
    return float(tick["bid"] + tick["ask"]) / 2


def ask(path: str) -> None:
    with carillon.connect(path, wait_for_owner=10.0) as owner:
        quotes = owner.client(TICK, QUOTE, "quotes")
    print(f"the client has {quotes.call((4810.0, 4810.5), timeout=5.0):.2f}", flush=True)


def own(path: pathlib.Path) -> None:
    device = carillon.Device("emulated")
    with carillon.PersistentKernel(
        device, reprice, request=TICK, reply=QUOTE, blocks=2, shared=True
    ) as kernel:
        server = kernel.serve(path, "quotes")
        subprocess.run([sys.executable, __file__, str(path)], check=True)
        kernel.drain(timeout=5.0)
        server.close()


if len(sys.argv) > 1:
    ask(sys.argv[1])
else:
    with tempfile.TemporaryDirectory() as folder:
        own(pathlib.Path(folder) / "quotes.sock")
