# SPDX-License-Identifier: Apache-2.0
"""A handler in Python: numba-cuda compiles it for a GPU, the emulated device calls it."""

from typing import Any

import numpy as np

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype([("price", "<f8"), ("spread", "<f8")])


def reprice(tick: Any, quote: Any) -> None:
    quote.price = (tick.bid + tick.ask) / 2
    quote.spread = tick.ask - tick.bid


def run(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, reprice, request=TICK, reply=QUOTE) as kernel:
        quote = kernel.client().call((4810.00, 4810.25), timeout=1.0)
        print(f"{quote['price']} from Python on the {device.info.name}")


try:
    run(carillon.Device())
except carillon.UnsupportedError as error:  # a GPU, and no numba-cuda
    print(f"not here: {error}")
