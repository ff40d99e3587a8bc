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
KERNELS = {0: set(), 1: {"ReaderBody"}, 2: {"ProbeBody"}, 3: {"ProbeBody"},
           4: {"ProbeBody", "ServeBody", "ServeTogetherBody"}, 5: {"WatchBody"}, 6: {"PoolBody"},
           7: {"WriterBody"}}


def kernels_of(case):
    """The bodies of the kernels in the PTX, without the source's own."""
    ptx = subprocess.run([*NVCC, "-ptx", "-x", "cu", f"-DCARILLON_CASE={case}", "-o", "-", SOURCE],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    entries = re.findall(r"\.entry (\w+)", ptx)
    assert entries, "not even the source's own kernel"
    return {body for entry in entries for body in re.findall(r"\d(\w*?Body)(?=I|E)", entry)
            for body in re.findall(r"(?:Reader|Writer|Probe|ServeTogether|Serve|Watch|Pool)Body", body)}


def functions_of(command, case):
    """What the object file of a case defines of the library's, as a linker sees it."""
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "case.o"
        subprocess.run([*command, "-c", f"-DCARILLON_CASE={case}", "-o", file, SOURCE], check=True)
        names = subprocess.run(["nm", "-C", "--defined-only", file], stdout=subprocess.PIPE,
                               text=True, check=True).stdout
    return set(re.findall(r"^\S+ \S (carillon::.*)", names, re.M))


class LaunchesTest(unittest.TestCase):
    def test_each_kind_brings_its_kernel(self):
        for case, expected in KERNELS.items():
            with self.subTest(case=case):
                self.assertEqual(kernels_of(case), expected)

    def test_what_launches_is_not_shared_by_sources_of_two_compilers(self):
        options = [option for option in NVCC if option.startswith(("-I", "-std"))]
        for case, name in {1: "DeviceReader::", 2: "tune<", 7: "DeviceWriter::"}.items():
            with self.subTest(case=case):
                ours = functions_of([*NVCC, "-x", "cu"], case)
                theirs = functions_of([CXX, *options], case)
                for functions in (ours, theirs):
                    self.assertTrue([each for each in functions if name in each])
                self.assertEqual([each for each in ours & theirs if name in each], [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
