# SPDX-License-Identifier: Apache-2.0
"""Commands the kernel that examples/quotes_owner.cpp owns, a process in C++.

Usage: quotes_feed.py PATH
"""

import sys

import numpy as np

import carillon

TICK = np.dtype([("bid", "<f8"), ("ask", "<f8")])
QUOTE = np.dtype([("price", "<f8"), ("count", "<u4")], align=True)  # laid out as in C

with carillon.connect(sys.argv[1], wait_for_owner=10.0) as owner:
    quotes = owner.client(TICK, QUOTE)
for i in range(3):
    quote = quotes.call((4810.0 + i, 4810.5 + i), timeout=1.0)
    print(f"tick {quote['count']}: {quote['price']:.2f}")
