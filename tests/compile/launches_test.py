#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each kind of launch brings device code of its kernel, and a source without one brings none of the
library's: whether nvcc makes it depends on how the launch is written.
Usage: launches_test.py SOURCE NVCC [OPTION ...]"""
import re
import subprocess
import sys
import unittest

SOURCE, *NVCC = sys.argv[1:]
KERNELS = {0: set(), 1: {"ReaderBody"}, 2: {"ProbeBody"}, 3: {"ProbeBody"},
           4: {"ProbeBody", "ServeBody", "ServeTogetherBody"}, 5: {"WatchBody"}, 6: {"PoolBody"}}


def kernels_of(case):
    """The bodies of the kernels in the PTX, without the source's own."""
    ptx = subprocess.run([*NVCC, "-ptx", "-x", "cu", f"-DCARILLON_CASE={case}", "-o", "-", SOURCE],
                         stdout=subprocess.PIPE, text=True, check=True).stdout
    entries = re.findall(r"\.entry (\w+)", ptx)
    assert entries, "not even the source's own kernel"
    return {body for entry in entries for body in re.findall(r"\d(\w*?Body)(?=I|E)", entry)
            for body in re.findall(r"(?:Reader|Probe|ServeTogether|Serve|Watch|Pool)Body", body)}


class LaunchesTest(unittest.TestCase):
    def test_each_kind_brings_its_kernel(self):
        for case, expected in KERNELS.items():
            with self.subTest(case=case):
                self.assertEqual(kernels_of(case), expected)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
