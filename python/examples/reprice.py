# SPDX-License-Identifier: Apache-2.0
"""A kernel with a handler in Python, on the emulated device, and the calls that reach it."""

import numpy as np

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype([("price", "<f8")])

device = carillon.Device("emulated")
print(f"on the {device.info.name}")


def reprice(tick: np.void) -> tuple[float]:
    return ((tick["bid"] + tick["ask"]) / 2,)


with carillon.PersistentKernel(device, reprice, request=TICK, reply=QUOTE) as kernel:
    client = kernel.client()
    quote = client.call((4810.00, 4810.25), timeout=1.0)
    print(f"one call: {quote['price']}")

    ticks = np.zeros(1000, TICK)  # many at once: one call, in rows
    ticks["bid"] = 4810 + np.arange(1000) / 100
    ticks["ask"] = ticks["bid"] + 0.25
    quotes = client.call_many(ticks, timeout=10.0)
    print(f"{len(quotes)} calls, the last: {quotes['price'][-1]:.3f}")

    ticket = client.submit((1.0, 2.0))  # sent; the reply is taken later
    print(f"later: {client.wait(ticket)['price']}")
