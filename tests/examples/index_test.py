#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""examples/README.md lists every example, in C++, C and Python, and nothing else.
Usage: index_test.py SOURCE_FOLDER"""
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
EXAMPLES = ROOT / "examples"


def listed():
    """The files and folders that the first column of a table links to."""
    text = (EXAMPLES / "README.md").read_text()
    for name, target in re.findall(r"^\| \[([^]]+)\]\(([^)]+)\) \|", text, re.MULTILINE):
        path = (EXAMPLES / target).resolve()
        if not path.is_file():
            sys.exit(f"examples/README.md links to {target}, which is not there")
        yield path.parent if name.endswith("/") else path


def there():
    for path in EXAMPLES.iterdir():
        if path.is_dir() or path.suffix in (".cpp", ".hpp", ".c"):
            yield path.resolve()
    yield from (path.resolve() for path in (ROOT / "python/examples").glob("*.py"))


if __name__ == "__main__":
    index, files = list(listed()), set(there())
    wrong = [f"not listed: {path}" for path in sorted(files - set(index))]
    wrong += [f"listed, and no example: {path}" for path in sorted(set(index) - files)]
    wrong += [f"listed twice: {path}" for path in sorted(set(index)) if index.count(path) > 1]
    sys.exit("\n".join(wrong) if wrong else 0)
