#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each kind of launch brings device code of its kernel, and a source without one brings none of the
library's: whether nvcc makes it depends on how the launch is written. And what ends in a launch is
not the same function in a source of nvcc's and in one of the C++ compiler's.
Usage: launches_test.py SOURCE CXX NVCC [OPTION ...]"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

SOURCE, CXX, *NVCC = sys.argv[1:]
# Kinds that go into one source each have a kernel that no other of them has.
KERNELS = {(): set(), (1, 5, 6, 7): {"ReaderBody", "WatchBody", "PoolBody", "WriterBody"},
           (2,): {"ProbeBody"}, (3,): {"ProbeBody"},
           (4,): {"ProbeBody", "ServeBody", "ServeTogetherBody"}}


def option(kinds):
    return f"-DCARILLON_KINDS={sum(1 << kind for kind in kinds)}"


def kernels_of(kinds):
    """The bodies of the kernels in the PTX, without the source's own."""
    ptx = subprocess.run([*NVCC, "-ptx", "-x", "cu", option(kinds), "-o", "-", SOURCE],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    entries = re.findall(r"\.entry (\w+)", ptx)
    assert entries, "not even the source's own kernel"
    return {body for entry in entries for body in re.findall(r"\d(\w*?Body)(?=I|E)", entry)
            for body in re.findall(r"(?:Reader|Writer|Probe|ServeTogether|Serve|Watch|Pool)Body", body)}


def functions_of(command, kinds):
    """What the object file of a source defines of the library's, as a linker sees it."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "kinds.o"
        subprocess.run([*command, "-c", option(kinds), "-o", file, SOURCE], check=True)
        names = subprocess.run(["nm", "-C", "--defined-only", file], stdout=subprocess.PIPE,
                               text=True, check=True).stdout
    return set(re.findall(r"^\S+ \S (carillon::.*)", names, re.MULTILINE))


class LaunchesTest(unittest.TestCase):
    def test_each_kind_brings_its_kernel(self):
        for kinds, expected in KERNELS.items():
            with self.subTest(kinds=kinds):
                self.assertEqual(kernels_of(kinds), expected)

    def test_what_launches_is_not_shared_by_sources_of_two_compilers(self):
        options = [each for each in NVCC if each.startswith(("-I", "-std"))]
        names = {1: "DeviceReader::", 2: "tune<", 7: "DeviceWriter::"}
        ours = functions_of([*NVCC, "-x", "cu"], names)
        theirs = functions_of([CXX, *options], names)
        for name in names.values():
            with self.subTest(name=name):
                for functions in (ours, theirs):
                    self.assertTrue([each for each in functions if name in each])
                self.assertEqual([each for each in ours & theirs if name in each], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
