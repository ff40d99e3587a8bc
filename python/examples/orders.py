# SPDX-License-Identifier: Apache-2.0
"""Messages as dataclasses, and many calls at a time from asyncio without a thread for each."""

import asyncio
from dataclasses import dataclass
from typing import Annotated

import carillon


@dataclass
class Order:
    price: float
    size: Annotated[int, "u4"]  # a C uint32_t; a plain int is an int64_t


@dataclass
class Fill:
    cost: float


def fill(order: Order) -> Fill:
    return Fill(order.price * order.size)


async def main(client: carillon.Client) -> None:
    fills = await asyncio.gather(*[client.call_async(Order(2.5, size)) for size in range(100)])
    print(f"{len(fills)} fills, {sum(fill.cost for fill in fills)} in all")


with carillon.PersistentKernel(
    carillon.Device("emulated"), fill, request=Order, reply=Fill
) as kernel:
    asyncio.run(main(kernel.client()))
