#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the DBN files of this folder with the field's own library (the PyPI package databento-dbn,
0.72 when they were made) and, for v3.dbn.zst, the command zstd.
Usage: make_dbn.py FOLDER"""
import pathlib
import subprocess
import sys

import databento_dbn as dbn

NAME = "Trades and orders of a test"


def metadata(version, ts_out):
    return dbn.Metadata(dataset="GLBX.MDP3", start=1, stype_in=dbn.SType.RAW_SYMBOL,
                        stype_out=dbn.SType.INSTRUMENT_ID, schema=None, symbols=["ESH4"],
                        mappings=[], partial=[], not_found=[], ts_out=ts_out, version=version)


def order(i):
    return dbn.MBOMsg(publisher_id=1, instrument_id=1000 + i, ts_event=10**18 + i,
                      order_id=2000 + i, price=4810 * 10**9 + i * 250_000_000, size=1 + i,
                      action=dbn.Action.TRADE if i == 2 else dbn.Action.ADD, side=dbn.Side.BID, ts_recv=10**18 + 5 + i,
                      flags=128, channel_id=0, ts_in_delta=5, sequence=3000 + i)


def encoded(record, ts_out):
    data = bytes(record)
    size = data[0] * 4
    if not ts_out:
        return data[:size]
    return bytes([data[0] + 2]) + data[1:size] + (10**18).to_bytes(8, "little")


def main(folder):
    for version, ts_out in ((1, False), (2, False), (3, False), (3, True)):
        system = (dbn.v1 if version == 1 else dbn.v2).SystemMsg(ts_event=1, msg=NAME)
        records = [order(0), system, order(1), order(2)]
        data = metadata(version, ts_out).encode() + b"".join(encoded(r, ts_out) for r in records)
        path = folder / f"v{version}{'-ts-out' if ts_out else ''}.dbn"
        path.write_bytes(data)
    subprocess.run(["zstd", "-q", "-f", "-k", str(folder / "v3.dbn")], check=True)


main(pathlib.Path(sys.argv[1]))
