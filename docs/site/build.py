#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the sources that Sphinx reads, for scripts/docs: a page for each one in docs/site/navigation.
Needs Doxygen's XML in build/site-xml.
Usage: build.py FOLDER"""
import pathlib
import sys

import pages
import reference


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    reference.strip()
    pages.write(folder)
    reference.write(folder)


if __name__ == "__main__":
    main()
