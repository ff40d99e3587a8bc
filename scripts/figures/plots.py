# SPDX-License-Identifier: Apache-2.0
"""Which plots there are, and whether they are older than their data. A plot's metadata hold a hash of
its results files and of the code that draws it, so that this needs no matplotlib."""

import hashlib
import pathlib
import re

MATPLOTLIB = "matplotlib==3.11.2"
# Each plot, and the results files that it shows.
SOURCES = {"round-trip-tails": ("rtt", "peers"), "load": ("load",), "copy": ("copy",), "producers": ("rate",)}
CODE = pathlib.Path(__file__).with_name("drawing.py")
STAMP = re.compile(r"made of [\w, ]+: ([0-9a-f]{64})")


def stamp(folder, name):
    """The text of a plot's metadata that names its results files and their hash."""
    digest = hashlib.sha256()
    for path in (*(folder / f"{source}.json" for source in SOURCES[name]), CODE):
        digest.update(path.read_bytes() if path.exists() else b"")
        digest.update(b"\0")
    return f"made of {', '.join(SOURCES[name])}: {digest.hexdigest()}"


def stale(folder, plots_folder):
    """Each plot that is not made of these files, and what it should be made of."""
    for name, sources in SOURCES.items():
        if not (folder / f"{sources[0]}.json").exists():
            continue
        path = plots_folder / f"{name}.svg"
        found = STAMP.search(path.read_text()) if path.exists() else None
        if not found or found[0] != stamp(folder, name):
            yield path, f"{', '.join(f'{source}.json' for source in sources)} or the code that draws it"
    for path in sorted(plots_folder.glob("*.svg")):
        if path.stem not in SOURCES:
            yield path, "anything: nothing draws it (scripts/figures/plots.py)"
