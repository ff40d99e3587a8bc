# SPDX-License-Identifier: Apache-2.0
"""A kernel on a GPU whose handler is CUDA C++, compiled while the program runs."""

import numpy as np

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype([("price", "<f8"), ("count", "<u8")])

REPRICE = """
struct Handler {
    unsigned long long count = 0;
    Reply operator()(Request const& tick) { return {(tick.bid + tick.ask) / 2, ++count}; }
};
"""


def run(device: carillon.Device) -> None:
    with carillon.PersistentKernel(device, REPRICE, request=TICK, reply=QUOTE) as kernel:
        quote = kernel.client().call((4810.00, 4810.25), timeout=1.0)
        print(f"{quote['price']} from text on the {device.info.name}")


try:
    run(carillon.Device("cuda:0"))
except (carillon.DeviceNotFoundError, carillon.UnsupportedError) as error:
    print(f"not here: {error}")
