#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Fails where a library exports other symbols than its list has, or has another soname. Exit status
77, and the reason, where this machine has not the programs that tell.
Usage: abi_test.py LIBRARY SONAME LIST"""
import pathlib
import re
import shutil
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


def main(library, soname, listed):
    for program in ("nm", "objdump"):
        if not shutil.which(program):
            print(f"skipped: there is no {program} here")
            return 77
    exported = {line.split()[2] for line in output("nm", "-D", "--defined-only",
                                                   library).splitlines() if " A " not in line}
    kept = set(pathlib.Path(listed).read_text().split())
    for name in sorted(kept - exported):
        print(f"{name} is no longer exported: programs that use it break")
    for name in sorted(exported - kept):
        print(f"{name} is exported and not in {listed}: add it once it is to stay")
    told = re.search(r"SONAME\s+(\S+)", output("objdump", "-p", library)).group(1)
    if told != soname or not re.search(r"\.so\.0$", told):
        print(f"its soname is {told}")
        return 1
    return int(kept != exported)


sys.exit(main(*sys.argv[1:]))
